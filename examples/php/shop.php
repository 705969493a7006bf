<?php

// A flash sale and a lock by phpredis. Runs on a new server that has the module.

declare(strict_types=1);

const OUTCOMES = ['accepted', 'sold out', 'at the limit', 'not started', 'ended', 'released'];
// An id is a string. As a float, which json_decode makes of a long number, it would lose digits.
const ORDER_ID = '9007199254740993';

function connect(float $readTimeout): Redis
{
    $url = parse_url(getenv('REDIS_URL') ?: 'redis://127.0.0.1:6379/');
    $redis = new Redis();
    $redis->connect($url['host'], $url['port'] ?? 6379, 1.0, null, 0, $readTimeout);
    return $redis;
}

/** What the server called a mistake, by its code word, such as NOVOUCHER. */
class Mistake extends RuntimeException
{
}

/**
 * Sends a command that phpredis has no method for.
 *
 * On an error reply rawCommand returns false, as on null, when it knows the code word (ERR,
 * WRONGTYPE), and throws what it throws for a broken connection when it doesn't (NOVOUCHER).
 * Without a look at getLastError the one would pass for a 0, the other be tried again and again.
 */
function send(Redis $redis, string ...$command): mixed
{
    $redis->clearLastError();
    try {
        $reply = $redis->rawCommand(...$command);
    } catch (RedisException $exception) {
        throw $redis->getLastError() === null ? $exception : new Mistake($redis->getLastError());
    }
    if ($redis->getLastError() !== null) {
        throw new Mistake($redis->getLastError());
    }
    return $reply;
}

/**
 * Tries until there is an answer. Returns the outcome and how many tries had none.
 *
 * Sending a try again is safe because the voucher is managed and the order id is the same: a try
 * that was accepted is answered 0 again, and makes no second order. phpredis goes on using a
 * connection on which a reply is overdue: it must be given up, or the late reply would be taken for
 * that of the next command.
 *
 * @return array{int, int}
 */
function buy(Redis &$sale, string $voucher, string $user, string $orderId): array
{
    for ($unanswered = 0; ; $unanswered++) {
        try {
            return [send($sale, 'SECKILL.TRY', $voucher, $user, $orderId), $unanswered];
        } catch (RedisException $noAnswer) {
            if ($unanswered === 9) {
                throw $noAnswer;
            }
            usleep(50_000 * ($unanswered + 1));
            $sale = connect(readTimeout: 1.0);
        }
    }
}

/** What is a map in RESP3 is names and values in turn in RESP2, which phpredis speaks. */
function pairs(array $reply): array
{
    $map = [];
    foreach (array_chunk($reply, 2) as [$name, $value]) {
        $map[$name] = $value;
    }
    return $map;
}

function sell(Redis &$sale): void
{
    send($sale, 'SECKILL.CREATE', '7', '2', 'HOLD', '60000');

    // For the show: the server answers no write for longer than the sale's read time-out.
    send($sale, 'CLIENT', 'PAUSE', '1500', 'WRITE');
    [$outcome, $unanswered] = buy($sale, '7', 'alice', ORDER_ID);
    echo 'alice tries: ', OUTCOMES[$outcome], $unanswered ? ', after a time-out' : '', "\n";

    [$outcome] = buy($sale, '7', 'alice', ORDER_ID);
    echo 'the same try again: ', OUTCOMES[$outcome], "\n";
    [$outcome] = buy($sale, '7', 'alice', '1002');
    echo 'another try of hers: ', OUTCOMES[$outcome], "\n";

    // With '*' one round trip makes the id too. Such a try can't be sent again: who got no answer
    // doesn't know the id, and asks SECKILL.STATUS.
    [$outcome, $bobsOrder] = send($sale, 'SECKILL.TRY', '7', 'bob', '*');
    echo 'bob tries, the server makes the id: ', OUTCOMES[$outcome], "\n";
    [$outcome] = buy($sale, '7', 'carol', '1003');
    echo 'carol tries: ', OUTCOMES[$outcome], "\n";

    // A payment names its sale, so that a late one never pays an order of the next sale.
    $saleId = pairs(send($sale, 'SECKILL.INFO', '7'))['sale'];
    $paid = send($sale, 'SECKILL.CONFIRM', '7', 'alice', ORDER_ID, 'SALE', (string) $saleId);
    echo 'alice pays: ', ['no such order', 'confirmed', 'paid before', 'too late'][$paid], "\n";
    $cancelled = send($sale, 'SECKILL.CANCEL', '7', 'bob', $bobsOrder);
    echo 'bob cancels: ', ['no such order', 'released', 'already released'][$cancelled], "\n";

    $order = pairs(send($sale, 'SECKILL.ORDER', '7', ORDER_ID));
    echo 'order ', ORDER_ID, ": {$order['user']}, {$order['units']} unit, {$order['state']}\n";
    $info = pairs(send($sale, 'SECKILL.INFO', '7'));
    echo "sale: {$info['left']} left, {$info['held']} held, {$info['sold']} sold, ",
        $sale->xLen('stream.orders'), " orders in the stream\n";
}

function lock(Redis $locks): void
{
    [$first, $second] = [bin2hex(random_bytes(16)), bin2hex(random_bytes(16))];
    $fence = send($locks, 'LOCK.ACQUIRE', 'lock:report', $first, '1500', 'FENCE');
    echo 'first holder of the lock: ', $fence ? 'has it, with a fencing token' : 'refused', "\n";

    // The first holder is stuck and doesn't release; the server hands the lock on when its lease
    // ends. A program that stores what was done under the lock keeps the greatest token
    // seen, and refuses a smaller one.
    $waitMs = '5000';
    $later = send(
        $locks, 'LOCK.ACQUIRE', 'lock:report', $second, '30000', 'BLOCK', $waitMs, 'FENCE',
    );
    $answer = $later > $fence ? 'has it, with a greater one' : 'refused';
    echo "second holder, after a wait in the queue: $answer\n";

    foreach (['first' => $first, 'second' => $second] as $name => $token) {
        $released = send($locks, 'LOCK.RELEASE', 'lock:report', $token);
        echo "the $name holder releases: ", $released ? 'released' : 'not theirs any more', "\n";
    }
}

// A buyer wants an answer soon. A client that waits for a lock expects none before the wait
// is over: its read time-out must be longer than the wait.
$sale = connect(readTimeout: 1.0);
$locks = connect(readTimeout: 10.0);
sell($sale);
lock($locks);
try {
    send($sale, 'SECKILL.TRY', '99', 'alice', '1004');
} catch (Mistake $mistake) { // an outcome is a number, a mistake is an exception
    echo 'no such voucher: ', strtok($mistake->getMessage(), ' '), "\n";
}
