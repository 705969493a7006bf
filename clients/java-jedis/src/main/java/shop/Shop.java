package shop;

import java.net.URI;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.JedisPooled;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.util.SafeEncoder;

/** A flash sale and a lock by Jedis. Runs on a new server that has the module. */
public final class Shop {
    private static final String[] OUTCOMES = {
        "accepted", "sold out", "already bought", "not started", "ended", "released"
    };

    /** 2^53 + 1: an id is a string, since on its way to a browser a long would lose digits. */
    private static final String ORDER_ID = "9007199254740993";

    private final JedisPooled jedis;

    private Shop(JedisPooled jedis) {
        this.jedis = jedis;
    }

    public static void main(String[] args) throws InterruptedException {
        String url = System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379/");
        URI uri = URI.create(url);
        // A buyer wants an answer soon. Who waits for a lock wants none before the wait is over:
        // the time-out of blocking commands must be longer than the wait, and is endless by
        // default. Each command takes a connection from the pool, so a waiter keeps nobody else
        // from theirs.
        var config =
                DefaultJedisClientConfig.builder()
                        .socketTimeoutMillis(1_000)
                        .blockingSocketTimeoutMillis(10_000)
                        .build();
        var address = new HostAndPort(uri.getHost(), uri.getPort());
        try (JedisPooled jedis = new JedisPooled(address, config)) {
            Shop shop = new Shop(jedis);
            shop.sell();
            shop.lock();
            shop.mistake();
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
     * try that was accepted is answered 0 again, and makes no second order. Jedis closes a
     * connection on which a reply is overdue, so a late reply can't be taken for the next one's.
     */
    private Answer buy(String voucher, String user, String orderId) throws InterruptedException {
        for (int unanswered = 0; ; unanswered++) {
            try {
                return new Answer(integer(Seckill.TRY, voucher, user, orderId), unanswered);
            } catch (JedisConnectionException noAnswer) {
                if (unanswered == 9) {
                    throw noAnswer;
                }
                Thread.sleep(50L * (unanswered + 1));
            }
        }
    }

    private void sell() throws InterruptedException {
        jedis.sendCommand(Seckill.CREATE, "7", "2", "HOLD", "60000");

        // For the show: the server answers no write for longer than the sale's socket time-out.
        jedis.sendCommand(Protocol.Command.CLIENT, "PAUSE", "1500", "WRITE");
        Answer answer = buy("7", "alice", ORDER_ID);
        String late = answer.unanswered() > 0 ? ", after a time-out" : "";
        System.out.println("alice tries: " + answer.word() + late);
        System.out.println("the same try again: " + buy("7", "alice", ORDER_ID).word());
        System.out.println("another try of hers: " + buy("7", "alice", "1002").word());

        // With "*" one round trip makes the id too. Such a try can't be sent again: who got no
        // answer doesn't know the id, and asks SECKILL.STATUS.
        List<?> reply = (List<?>) decoded(jedis.sendCommand(Seckill.TRY, "7", "bob", "*"));
        String bobsOrder = (String) reply.get(1);
        String word = OUTCOMES[((Long) reply.get(0)).intValue()];
        System.out.println("bob tries, the server makes the id: " + word);
        System.out.println("carol tries: " + buy("7", "carol", "1003").word());

        String[] paid = {"no such order", "confirmed", "paid before", "too late"};
        int confirmed = integer(Seckill.CONFIRM, "7", "alice", ORDER_ID);
        System.out.println("alice pays: " + paid[confirmed]);
        String[] givenBack = {"no such order", "given back", "given back before"};
        int cancelled = integer(Seckill.CANCEL, "7", "bob", bobsOrder);
        System.out.println("bob cancels: " + givenBack[cancelled]);

        Map<String, Object> order = pairs(jedis.sendCommand(Seckill.ORDER, "7", ORDER_ID));
        System.out.printf(
                "order %s: %s, %s unit, %s%n",
                ORDER_ID, order.get("user"), order.get("units"), order.get("state"));
        Map<String, Object> info = pairs(jedis.sendCommand(Seckill.INFO, "7"));
        System.out.printf(
                "sale: %s left, %s held, %s sold, %d orders in the stream%n",
                info.get("left"), info.get("held"), info.get("sold"), jedis.xlen("stream.orders"));
    }

    private void lock() {
        String first = UUID.randomUUID().toString();
        String second = UUID.randomUUID().toString();
        long fence =
                (Long) jedis.sendCommand(Seckill.ACQUIRE, "lock:report", first, "1500", "FENCE");
        System.out.println(
                "first holder of the lock: "
                        + (fence > 0 ? "has it, with a fencing token" : "refused"));

        // The first holder is stuck and doesn't release; the server hands the lock on when its
        // lease ends. Whoever stores what was done under the lock keeps the greatest token seen,
        // and refuses a smaller one.
        String waitMs = "5000";
        long later =
                (Long)
                        jedis.sendBlockingCommand(
                                Seckill.ACQUIRE,
                                "lock:report", second, "30000", "WAIT", waitMs, "FENCE");
        System.out.println(
                "second holder, after a wait in line: "
                        + (later > fence ? "has it, with a greater one" : "refused"));

        System.out.println("the first holder releases: " + release(first));
        System.out.println("the second holder releases: " + release(second));
    }

    private String release(String token) {
        boolean released = integer(Seckill.RELEASE, "lock:report", token) == 1;
        return released ? "released" : "not theirs any more";
    }

    /** An outcome is a number, a mistake is an exception. */
    private void mistake() {
        try {
            jedis.sendCommand(Seckill.TRY, "99", "alice", "1004");
        } catch (JedisDataException mistake) {
            System.out.println("no such voucher: " + mistake.getMessage().split(" ")[0]);
        }
    }

    private int integer(Seckill command, String... arguments) {
        return ((Long) jedis.sendCommand(command, arguments)).intValue();
    }

    /** What sendCommand returns has texts as bytes. */
    private static Object decoded(Object reply) {
        return SafeEncoder.encodeObject(reply);
    }

    /** What is a map in RESP3 is names and values in turn in RESP2, which Jedis speaks. */
    private static Map<String, Object> pairs(Object reply) {
        List<?> list = (List<?>) decoded(reply);
        Map<String, Object> map = new HashMap<>();
        for (int i = 0; i < list.size(); i += 2) {
            map.put((String) list.get(i), list.get(i + 1));
        }
        return map;
    }
}
