package shop;

import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientPauseMode;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/** The calls of a flash sale and a lock, where an application has Jedis and not the library. */
final class JedisShop {
    private static final String ORDER_ID = "9007199254740993";
    private static final List<String> OUTCOMES =
            List.of("accepted", "sold out", "at the limit", "not started", "ended", "released");

    private final URI url;
    private Jedis jedis;

    private JedisShop(URI url) {
        this.url = url;
        this.jedis = connect();
    }

    /** A name that is not in the table of Jedis. */
    private record Name(String name) implements ProtocolCommand {
        @Override
        public byte[] getRaw() {
            return name.getBytes(StandardCharsets.US_ASCII);
        }
    }

    static void run(URI url) throws InterruptedException, ExecutionException {
        JedisShop shop = new JedisShop(url);
        shop.sell();
        shop.lock();
        try {
            shop.call("SECKILL.TRY", "99", "alice", "1004");
        } catch (JedisDataException mistake) {
            System.out.println("no such voucher: " + mistake.getMessage().split(" ")[0]);
        }
        shop.jedis.close();
    }

    /** Answers are waited for a second. */
    private Jedis connect() {
        return new Jedis(url, 1_000);
    }

    private Object call(String name, String... arguments) {
        return SafeEncoder.encodeObject(jedis.sendCommand(new Name(name), arguments));
    }

    /** The voucher is managed, so the same try may be sent again, by another connection. */
    private String buy(String user, String orderId) {
        for (int attempts = 1; ; attempts++) {
            try {
                String outcome = outcome(call("SECKILL.TRY", "7", user, orderId));
                return outcome + (attempts > 1 ? ", after a time-out" : "");
            } catch (JedisConnectionException unanswered) {
                if (attempts == 5) {
                    throw unanswered;
                }
                jedis.close();
                jedis = connect();
            }
        }
    }

    private static String outcome(Object code) {
        return OUTCOMES.get(((Long) code).intValue());
    }

    /** A value of a reply that is names and values in turn. */
    private static Object field(Object reply, String name) {
        List<?> pairs = (List<?>) reply;
        return pairs.get(pairs.indexOf(name) + 1);
    }

    private void sell() {
        call("SECKILL.CREATE", "7", "2", "HOLD", "60000");
        try (Jedis other = connect()) {
            other.clientPause(1500, ClientPauseMode.WRITE);
        }
        System.out.println("alice tries: " + buy("alice", ORDER_ID));
        System.out.println("the same try again: " + buy("alice", ORDER_ID));
        System.out.println("another try of hers: " + buy("alice", "1002"));

        // Where the server makes the id, the try can't be sent again.
        List<?> bobs = (List<?>) call("SECKILL.TRY", "7", "bob", "*");
        System.out.println("bob tries, the server makes the id: " + outcome(bobs.get(0)));
        System.out.println("carol tries: " + buy("carol", "1003"));

        // A payment names its sale, so that a late one never pays an order of the next sale.
        String sale = field(call("SECKILL.INFO", "7"), "sale").toString();
        Object paid = call("SECKILL.CONFIRM", "7", "alice", ORDER_ID, "SALE", sale);
        System.out.println("alice pays: " + (paid.equals(1L) ? "confirmed" : "refund her"));
        Object released = call("SECKILL.CANCEL", "7", "bob", (String) bobs.get(1));
        System.out.println("bob cancels: " + (released.equals(1L) ? "released" : "not released"));
        Object order = call("SECKILL.ORDER", "7", ORDER_ID);
        System.out.printf(
                "order %s: %s, %d unit, %s%n",
                ORDER_ID, field(order, "user"), field(order, "units"), field(order, "state"));
        Object info = call("SECKILL.INFO", "7");
        System.out.printf(
                "sale: %d left, %d held, %d sold, %d orders in the stream%n",
                field(info, "left"),
                field(info, "held"),
                field(info, "sold"),
                jedis.xlen("stream.orders"));
    }

    private void lock() throws InterruptedException, ExecutionException {
        long fence = (Long) call("LOCK.ACQUIRE", "lock:report", "first", "1500", "FENCE");
        System.out.println(
                "first holder of the lock: "
                        + (fence > 0 ? "has it, with a fencing token" : "refused"));
        // A waiter has a connection of its own, on which no answer is overdue.
        long later = CompletableFuture.supplyAsync(this::awaitLock).get();
        System.out.println(
                "second holder, after a wait in the queue: "
                        + (later > fence ? "has it, with a greater one" : "refused"));
        System.out.println("the first holder releases: " + release("first"));
        System.out.println("the second holder releases: " + release("second"));
    }

    private long awaitLock() {
        try (Jedis waiter = connect()) {
            return (Long)
                    waiter.sendBlockingCommand(
                            new Name("LOCK.ACQUIRE"),
                            "lock:report", "second", "30000", "BLOCK", "5000", "FENCE");
        }
    }

    private String release(String token) {
        Object released = call("LOCK.RELEASE", "lock:report", token);
        return released.equals(1L) ? "released" : "not theirs any more";
    }
}
