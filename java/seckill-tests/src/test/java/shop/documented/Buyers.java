package shop.documented;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BiConsumer;
import java.util.stream.Stream;
import org.springframework.data.redis.core.StringRedisTemplate;

/** Buyers at one instance of a shop, who buy what is on sale until they are stopped. */
final class Buyers {
    /** Names the voucher that is on sale, if one is. */
    static final String SALE = "shop:sale";
    static final int COUNT = 2;
    private static final int USERS = 20_000;
    private static final long THINKS_NANOS = 5_000_000;

    private final StringRedisTemplate redis;
    private final BiConsumer<String, String> shop;
    private final List<Thread> threads;
    private volatile boolean over;

    /** They call a shop with a voucher and a user. */
    Buyers(StringRedisTemplate redis, BiConsumer<String, String> shop) {
        this.redis = redis;
        this.shop = shop;
        threads = Stream.generate(() -> new Thread(this::buy)).limit(COUNT).toList();
        threads.forEach(Thread::start);
    }

    private void buy() {
        while (!over) {
            String voucher = redis.opsForValue().get(SALE);
            if (voucher != null) {
                int user = ThreadLocalRandom.current().nextInt(1, USERS);
                shop.accept(voucher, String.valueOf(user));
            }
            LockSupport.parkNanos(THINKS_NANOS);
        }
    }

    void stop() throws InterruptedException {
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
