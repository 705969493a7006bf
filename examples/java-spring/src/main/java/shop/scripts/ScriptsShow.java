package shop.scripts;

import java.time.Duration;
import org.springframework.boot.CommandLineRunner;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/** An evening in the shop as it is today. */
@Component
class ScriptsShow implements CommandLineRunner {
    private final VoucherOrderService service;
    private final OrderConsumer consumer;
    private final StringRedisTemplate redis;

    ScriptsShow(VoucherOrderService service, OrderConsumer consumer, StringRedisTemplate redis) {
        this.service = service;
        this.consumer = consumer;
        this.redis = redis;
    }

    @Override
    public void run(String... args) {
        consumer.createGroup();
        service.openSale(7, 2);
        for (long user : new long[] {1, 1, 2, 3}) {
            System.out.println("user " + user + " buys: " + service.buy(7, user));
        }
        System.out.println("stock: " + redis.opsForValue().get("seckill:stock:7"));
        consumer.makeOrders().values().forEach(order -> System.out.println("order: " + order));

        SimpleRedisLock owner = new SimpleRedisLock(redis, "report");
        SimpleRedisLock other = new SimpleRedisLock(redis, "report");
        Duration lease = Duration.ofSeconds(30);
        System.out.println("the first locks: " + owner.tryLock(lease));
        System.out.println("another locks: " + other.tryLock(lease));
        System.out.println("another unlocks: " + other.unlock());
        System.out.println("the first unlocks: " + owner.unlock());
    }
}
