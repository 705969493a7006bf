package shop.commands;

import java.time.Duration;
import java.util.Map;
import java.util.UUID;
import org.springframework.boot.CommandLineRunner;
import org.springframework.context.annotation.Profile;
import org.springframework.data.redis.RedisSystemException;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/** What every client of this folder does, on a new server. */
@Component
@Profile("commands")
class CommandsShow implements CommandLineRunner {
    private static final String ORDER_ID = "9007199254740993";

    private final VoucherSale sale;
    private final Locks locks;
    private final StringRedisTemplate redis;

    CommandsShow(VoucherSale sale, Locks locks, StringRedisTemplate redis) {
        this.sale = sale;
        this.locks = locks;
        this.redis = redis;
    }

    @Override
    public void run(String... args) throws InterruptedException {
        sell();
        lock();
        try {
            sale.buy("99", "alice", "1004");
        } catch (RedisSystemException mistake) { // an outcome is a number, a mistake an exception
            String text = mistake.getRootCause().getMessage();
            System.out.println("no such voucher: " + text.split(" ")[0]);
        }
    }

    private void sell() throws InterruptedException {
        sale.create("7", 2, Duration.ofMinutes(1));

        // For the show: the server answers no write for longer than the sale's time-out.
        sale.pause(Duration.ofMillis(1500));
        VoucherSale.Answer answer = sale.buy("7", "alice", ORDER_ID);
        String late = answer.unanswered() > 0 ? ", after a time-out" : "";
        System.out.println("alice tries: " + answer.outcome() + late);
        System.out.println("the same try again: " + sale.buy("7", "alice", ORDER_ID).outcome());
        System.out.println("another try of hers: " + sale.buy("7", "alice", "1002").outcome());

        VoucherSale.Order bobs = sale.buy("7", "bob");
        System.out.println("bob tries, the server makes the id: " + bobs.outcome());
        System.out.println("carol tries: " + sale.buy("7", "carol", "1003").outcome());
        System.out.println("alice pays: " + sale.confirm("7", "alice", ORDER_ID));
        System.out.println("bob cancels: " + sale.cancel("7", "bob", bobs.id()));

        Map<String, Object> order = sale.order("7", ORDER_ID);
        System.out.printf(
                "order %s: %s, %s unit, %s%n",
                ORDER_ID, order.get("user"), order.get("units"), order.get("state"));
        Map<String, Object> info = sale.info("7");
        System.out.printf(
                "sale: %s left, %s held, %s sold, %d orders in the stream%n",
                info.get("left"),
                info.get("held"),
                info.get("sold"),
                redis.opsForStream().size("stream.orders"));
    }

    private void lock() {
        String first = UUID.randomUUID().toString();
        String second = UUID.randomUUID().toString();
        long fence = locks.acquire("lock:report", first, Duration.ofMillis(1500), Duration.ZERO);
        System.out.println(
                "first holder of the lock: "
                        + (fence > 0 ? "has it, with a fencing token" : "refused"));

        // The first holder is stuck and doesn't release; the server hands the lock on when its
        // lease ends. Whoever stores what was done under the lock keeps the greatest token seen,
        // and refuses a smaller one.
        long later =
                locks.acquire("lock:report", second, Duration.ofSeconds(30), Duration.ofSeconds(5));
        System.out.println(
                "second holder, after a wait in line: "
                        + (later > fence ? "has it, with a greater one" : "refused"));

        System.out.println("the first holder releases: " + release(first));
        System.out.println("the second holder releases: " + release(second));
    }

    private String release(String token) {
        return locks.release("lock:report", token) ? "released" : "not theirs any more";
    }
}
