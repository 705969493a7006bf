package shop;

import io.github.seckill.client.*;
import io.lettuce.core.RedisClient;
import java.net.URI;
import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.*;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.args.ClientPauseMode;

/**
 * A flash sale and a lock, by the library. Runs on a new server that has the module. {@link
 * JedisShop} is the same without the library, by Jedis.
 */
final class Shop {
    /** 2^53 + 1: an id is a string, since on its way to a browser a long would lose digits. */
    private static final String ORDER_ID = "9007199254740993";

    private final SeckillClient seckill;
    private final Jedis plain;

    private Shop(SeckillClient seckill, Jedis plain) {
        this.seckill = seckill;
        this.plain = plain;
    }

    public static void main(String[] args) throws InterruptedException, ExecutionException {
        URI url = URI.create(System.getenv().getOrDefault("REDIS_URL", "redis://127.0.0.1:6379/"));
        if (args.length > 0 && args[0].equals("jedis")) {
            JedisShop.run(url);
            return;
        }
        SeckillOptions options = SeckillOptions.defaults().commandTimeout(Duration.ofSeconds(1));
        try (RedisClient lettuce = RedisClient.create(url.toString());
                SeckillClient seckill = SeckillClient.create(lettuce, options);
                Jedis plain = new Jedis(url)) {
            Shop shop = new Shop(seckill, plain);
            shop.sell();
            shop.lock();
            shop.mistake();
        }
    }

    private static String word(Enum<?> outcome) {
        return outcome == Outcome.AT_LIMIT
                ? "at the limit"
                : outcome.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    private String buy(String user, String orderId) {
        return word(seckill.tryBuy("7", user, orderId).outcome());
    }

    private void sell() {
        seckill.create("7", 2, SaleRules.none().hold(Duration.ofMinutes(1)));

        // For the show: the server answers no write for longer than the time-out. The voucher is
        // managed, so the client sends the same try again, until it has an answer.
        plain.clientPause(1500, ClientPauseMode.WRITE);
        String outcome = buy("alice", ORDER_ID);
        String late = seckill.repeated() > 0 ? ", after a time-out" : "";
        System.out.println("alice tries: " + outcome + late);
        System.out.println("the same try again: " + buy("alice", ORDER_ID));
        System.out.println("another try of hers: " + buy("alice", "1002"));

        // The server makes the id before the try, which so can be sent again.
        Purchase bobs = seckill.tryBuy("7", "bob", seckill.nextId("order"));
        System.out.println("bob tries, the server makes the id: " + word(bobs.outcome()));
        System.out.println("carol tries: " + buy("carol", "1003"));

        // A payment names its sale, so that a late one never pays an order of the next sale.
        long sale = seckill.info("7").sale();
        OrderRef alices = OrderRef.of("7", "alice", ORDER_ID).inSale(sale);
        System.out.println("alice pays: " + word(seckill.confirm(alices)));
        String givenBack =
                switch (seckill.cancel(OrderRef.of("7", "bob", bobs.orderId()))) {
                    case RELEASED -> "released";
                    case ALREADY_RELEASED -> "already released";
                    case OTHER_STATE, NO_ORDER -> "no such order";
                };
        System.out.println("bob cancels: " + givenBack);

        Order order = seckill.order("7", ORDER_ID).orElseThrow();
        System.out.printf(
                "order %s: %s, %d unit, %s%n",
                ORDER_ID, order.user(), order.units(), word(order.state()));
        SaleInfo info = seckill.info("7");
        System.out.printf(
                "sale: %d left, %d held, %d sold, %d orders in the stream%n",
                info.left(), info.held(), info.sold(), plain.xlen("stream.orders"));
    }

    private void lock() throws InterruptedException, ExecutionException {
        // The first holder is stuck: nobody renews the lease, and the server hands the lock on when
        // it ends.
        LockOptions stuck =
                LockOptions.defaults().lease(Duration.ofMillis(1500)).renew(false).session(false);
        SeckillLock first = seckill.lock("lock:report", stuck);
        boolean has = first.tryLock();
        long fence = first.fencingToken();
        System.out.println(
                "first holder of the lock: "
                        + (has ? "has it, with a fencing token" : "refused"));

        // A lock belongs to a thread. A program that stores what was done under the lock keeps the
        // greatest token seen, and refuses a smaller one.
        ExecutorService elsewhere = Executors.newSingleThreadExecutor();
        SeckillLock second = seckill.lock("lock:report");
        long later =
                elsewhere
                        .submit(
                                () ->
                                        second.tryLock(5, TimeUnit.SECONDS)
                                                ? second.fencingToken()
                                                : 0L)
                        .get();
        System.out.println(
                "second holder, after a wait in the queue: "
                        + (later > fence ? "has it, with a greater one" : "refused"));

        System.out.println("the first holder releases: " + release(first));
        System.out.println(
                "the second holder releases: " + elsewhere.submit(() -> release(second)).get());
        elsewhere.shutdown();
    }

    private static String release(SeckillLock lock) {
        try {
            lock.unlock();
            return "released";
        } catch (SeckillException.LockLost lost) {
            return "not theirs any more";
        }
    }

    /** An outcome is a value, a mistake is an exception. */
    private void mistake() {
        try {
            seckill.tryBuy("99", "alice", "1004");
        } catch (SeckillException mistake) {
            System.out.println("no such voucher: " + mistake.code());
        }
    }
}
