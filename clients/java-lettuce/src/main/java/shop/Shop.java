package shop;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.GenericMapOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** A flash sale and a lock by Lettuce. Runs on a new server that has the module. */
public final class Shop {
    private static final String[] OUTCOMES = {
        "accepted", "sold out", "already bought", "not started", "ended", "released"
    };

    /** 2^53 + 1: an id is a string, since on its way to a browser a long would lose digits. */
    private static final String ORDER_ID = "9007199254740993";

    private static final StringCodec UTF8 = StringCodec.UTF8;

    private final RedisCommands<String, String> sale;
    private final RedisCommands<String, String> locks;

    private Shop(RedisCommands<String, String> sale, RedisCommands<String, String> locks) {
        this.sale = sale;
        this.locks = locks;
    }

    public static void main(String[] args) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379/");
        RedisClient client = RedisClient.create(url);
        // When a connection breaks, Lettuce opens a new one and sends again by itself what had no
        // reply, any command. That is fine for what can be repeated, as all below but the try with
        // "*". A shop that tries unmanaged vouchers switches it off, by autoReconnect(false) in
        // ClientOptions, and opens connections itself.
        // All threads share a connection, and all that is sent after LOCK.ACQUIRE .. WAIT stands in
        // line behind it: who waits for a lock has a connection of their own, and a time-out longer
        // than the wait.
        try (var sale = client.connect(); var locks = client.connect()) {
            sale.setTimeout(Duration.ofSeconds(1));
            locks.setTimeout(Duration.ofSeconds(10));
            Shop shop = new Shop(sale.sync(), locks.sync());
            shop.sell();
            shop.lock();
            shop.mistake();
        } finally {
            client.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    private record Answer(int outcome, int unanswered) {
        String word() {
            return OUTCOMES[outcome];
        }
    }

    /**
     * Tries until there is an answer.
     *
     * <p>Sending a try again is safe because the voucher is managed and the order id is the same: a
     * try that was accepted is answered 0 again, and makes no second order. Lettuce keeps the
     * connection on which a reply is overdue and drops that reply when it comes, so a try that
     * timed out may well be carried out after all.
     */
    private Answer buy(String voucher, String user, String orderId) throws InterruptedException {
        for (int unanswered = 0; ; unanswered++) {
            try {
                return new Answer(integer(sale, Seckill.TRY, voucher, user, orderId), unanswered);
            } catch (RedisCommandTimeoutException noAnswer) {
                if (unanswered == 9) {
                    throw noAnswer;
                }
                Thread.sleep(50L * (unanswered + 1));
            }
        }
    }

    private void sell() throws InterruptedException {
        send(sale, Seckill.CREATE, new StatusOutput<>(UTF8), "7", "2", "HOLD", "60000");

        // For the show: the server answers no write for longer than the sale's time-out.
        send(sale, CommandType.CLIENT, new StatusOutput<>(UTF8), "PAUSE", "1500", "WRITE");
        Answer answer = buy("7", "alice", ORDER_ID);
        String late = answer.unanswered() > 0 ? ", after a time-out" : "";
        System.out.println("alice tries: " + answer.word() + late);
        System.out.println("the same try again: " + buy("7", "alice", ORDER_ID).word());
        System.out.println("another try of hers: " + buy("7", "alice", "1002").word());

        // With "*" one round trip makes the id too. Such a try can't be sent again: who got no
        // answer doesn't know the id, and asks SECKILL.STATUS.
        List<Object> reply = send(sale, Seckill.TRY, new ArrayOutput<>(UTF8), "7", "bob", "*");
        String bobsOrder = (String) reply.get(1);
        String word = OUTCOMES[((Long) reply.get(0)).intValue()];
        System.out.println("bob tries, the server makes the id: " + word);
        System.out.println("carol tries: " + buy("7", "carol", "1003").word());

        String[] paid = {"no such order", "confirmed", "paid before", "too late"};
        int confirmed = integer(sale, Seckill.CONFIRM, "7", "alice", ORDER_ID);
        System.out.println("alice pays: " + paid[confirmed]);
        String[] givenBack = {"no such order", "given back", "given back before"};
        int cancelled = integer(sale, Seckill.CANCEL, "7", "bob", bobsOrder);
        System.out.println("bob cancels: " + givenBack[cancelled]);

        Map<String, Object> order = map(Seckill.ORDER, "7", ORDER_ID);
        System.out.printf(
                "order %s: %s, %s unit, %s%n",
                ORDER_ID, order.get("user"), order.get("units"), order.get("state"));
        Map<String, Object> info = map(Seckill.INFO, "7");
        System.out.printf(
                "sale: %s left, %s held, %s sold, %d orders in the stream%n",
                info.get("left"), info.get("held"), info.get("sold"), sale.xlen("stream.orders"));
    }

    private void lock() {
        String first = UUID.randomUUID().toString();
        String second = UUID.randomUUID().toString();
        long fence = acquire("lock:report", first, "1500", "FENCE");
        System.out.println(
                "first holder of the lock: "
                        + (fence > 0 ? "has it, with a fencing token" : "refused"));

        // The first holder is stuck and doesn't release; the server hands the lock on when its
        // lease ends. Whoever stores what was done under the lock keeps the greatest token seen,
        // and refuses a smaller one.
        String waitMs = "5000";
        long later = acquire("lock:report", second, "30000", "WAIT", waitMs, "FENCE");
        System.out.println(
                "second holder, after a wait in line: "
                        + (later > fence ? "has it, with a greater one" : "refused"));

        System.out.println("the first holder releases: " + release(first));
        System.out.println("the second holder releases: " + release(second));
    }

    private long acquire(String... arguments) {
        return send(locks, Seckill.ACQUIRE, new IntegerOutput<>(UTF8), arguments);
    }

    private String release(String token) {
        boolean released = integer(locks, Seckill.RELEASE, "lock:report", token) == 1;
        return released ? "released" : "not theirs any more";
    }

    /** An outcome is a number, a mistake is an exception. */
    private void mistake() {
        try {
            integer(sale, Seckill.TRY, "99", "alice", "1004");
        } catch (RedisCommandExecutionException mistake) {
            System.out.println("no such voucher: " + mistake.getMessage().split(" ")[0]);
        }
    }

    private static int integer(
            RedisCommands<String, String> commands, Seckill command, String... arguments) {
        return send(commands, command, new IntegerOutput<>(UTF8), arguments).intValue();
    }

    /** Lettuce speaks RESP3, where these replies are maps. */
    private Map<String, Object> map(Seckill command, String... arguments) {
        return send(sale, command, new GenericMapOutput<>(UTF8), arguments);
    }

    /** The output says what to make of the reply; one that doesn't fit the reply fails. */
    private static <T> T send(
            RedisCommands<String, String> commands,
            ProtocolKeyword command,
            CommandOutput<String, String, T> output,
            String... arguments) {
        CommandArgs<String, String> args = new CommandArgs<>(UTF8);
        // In a cluster the first key finds the node: give it by addKey.
        args.addKey(arguments[0]);
        for (int i = 1; i < arguments.length; i++) {
            args.add(arguments[i]);
        }
        return commands.dispatch(command, output, args);
    }
}
