"""A flash sale and a lock by redis-py. Runs on a new server that has the module."""

import os
import time
import uuid

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

URL = os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/")
OUTCOMES = ("accepted", "sold out", "at the limit", "not started", "ended", "released", "waiting",
            "not taken")
ORDER_ID = "9007199254740993"  # 2^53 + 1: an id is a string, here as in every language


def connect(read_timeout: float) -> redis.Redis:
    return redis.Redis.from_url(
        URL,
        decode_responses=True,
        protocol=3,  # maps come as dicts; with protocol=2 as lists of names and values in turn
        socket_timeout=read_timeout,
        # redis.Redis(host=...) sends what timed out up to three times more by itself, any command.
        # What may be repeated is for the shop to say.
        retry=Retry(NoBackoff(), 0),
    )


def buy(sale: redis.Redis, voucher: str, user: str, order_id: str) -> tuple[int, int]:
    """Tries until there is an answer. Replies the outcome and how many tries had none.

    Sending a try again is safe because the voucher is managed and the order id is the same: a try
    that was accepted is answered 0 again, and makes no second order. redis-py closes a connection
    on which a reply is overdue, so a late reply can't be taken for the next one's.
    """
    for unanswered in range(10):
        try:
            return sale.execute_command("SECKILL.TRY", voucher, user, order_id), unanswered
        except (redis.TimeoutError, redis.ConnectionError):
            time.sleep(0.05 * (unanswered + 1))
    raise TimeoutError(f"no answer for {user}, see SECKILL.STATUS before giving up")


def sell(sale: redis.Redis) -> None:
    sale.execute_command("SECKILL.CREATE", "7", 2, "HOLD", 60_000)

    # For the show: the server answers no write for longer than the sale's read time-out.
    sale.execute_command("CLIENT", "PAUSE", 1500, "WRITE")
    outcome, unanswered = buy(sale, "7", "alice", ORDER_ID)
    print(f"alice tries: {OUTCOMES[outcome]}{', after a time-out' if unanswered else ''}")

    outcome, _ = buy(sale, "7", "alice", ORDER_ID)
    print(f"the same try again: {OUTCOMES[outcome]}")
    outcome, _ = buy(sale, "7", "alice", "1002")
    print(f"another try of hers: {OUTCOMES[outcome]}")

    # With "*" one round trip makes the id too. Such a try can't be sent again: who got no answer
    # doesn't know the id, and asks SECKILL.STATUS.
    outcome, bobs_order = sale.execute_command("SECKILL.TRY", "7", "bob", "*")
    print(f"bob tries, the server makes the id: {OUTCOMES[outcome]}")
    outcome, _ = buy(sale, "7", "carol", "1003")
    print(f"carol tries: {OUTCOMES[outcome]}")

    # A payment names its sale: a late one never pays an order of the next sale.
    sale_id = sale.execute_command("SECKILL.INFO", "7")["sale"]
    paid = sale.execute_command("SECKILL.CONFIRM", "7", "alice", ORDER_ID, "SALE", sale_id)
    print(f"alice pays: {('no such order', 'confirmed', 'paid before', 'too late')[paid]}")
    cancelled = sale.execute_command("SECKILL.CANCEL", "7", "bob", bobs_order)
    print(f"bob cancels: {('no such order', 'released', 'already released')[cancelled]}")

    order = sale.execute_command("SECKILL.ORDER", "7", ORDER_ID)
    print(f"order {ORDER_ID}: {order['user']}, {order['units']} unit, {order['state']}")
    info = sale.execute_command("SECKILL.INFO", "7")
    print(
        f"sale: {info['left']} left, {info['held']} held, {info['sold']} sold, "
        f"{sale.xlen('stream.orders')} orders in the stream"
    )


def lock(locks: redis.Redis) -> None:
    first, second = str(uuid.uuid4()), str(uuid.uuid4())
    fence = locks.execute_command("LOCK.ACQUIRE", "lock:report", first, 1500, "FENCE")
    print(f"first holder of the lock: {'has it, with a fencing token' if fence else 'refused'}")

    # The first holder is stuck and doesn't release; the server hands the lock on when its lease
    # ends. A program that stores what was done under the lock keeps the greatest token
    # seen, and refuses a smaller one.
    wait_ms = 5000
    later = locks.execute_command(
        "LOCK.ACQUIRE", "lock:report", second, 30_000, "BLOCK", wait_ms, "FENCE"
    )
    answer = "has it, with a greater one" if later > fence else "refused"
    print(f"second holder, after a wait in the queue: {answer}")

    released = locks.execute_command("LOCK.RELEASE", "lock:report", first)
    print(f"the first holder releases: {'released' if released else 'not theirs any more'}")
    released = locks.execute_command("LOCK.RELEASE", "lock:report", second)
    print(f"the second holder releases: {'released' if released else 'not theirs any more'}")


def cart(sale: redis.Redis) -> None:
    """Buys several articles, all or nothing: bought means that every element is 0.

    What could be had of a cart that was refused is answered 7. The same cart may be sent again
    after a time-out, as a try may.
    """
    sale.execute_command("SECKILL.CREATE", "shoe", 1, "HOLD", 60_000)
    sale.execute_command("SECKILL.CREATE", "sock", 9, "LIMIT", 2, "HOLD", 60_000)
    for what, user, order_id in (
        ("alice's cart", "alice", "2001"),
        ("the same cart again", "alice", "2001"),
        ("bob's cart", "bob", "2002"),
    ):
        parts = sale.execute_command("SECKILL.TRYALL", "sock", 2, "shoe", 1, user, order_id)
        bought = all(part == 0 for part in parts)
        words = " and ".join(OUTCOMES[part] for part in parts)
        print(f"{what}: {words}, {'bought' if bought else 'nothing bought'}")


def main() -> None:
    # A buyer wants an answer soon. A client that waits for a lock expects none before the wait
    # is over: its read time-out must be longer than the wait.
    sale, locks = connect(read_timeout=1), connect(read_timeout=10)
    sell(sale)
    lock(locks)
    try:
        sale.execute_command("SECKILL.TRY", "99", "alice", "1004")
    except redis.ResponseError as mistake:  # an outcome is a number, a mistake is an exception
        print(f"no such voucher: {str(mistake).split()[0]}")
    cart(sale)


if __name__ == "__main__":
    main()
