package shop.documented;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent.OrderPlaced;
import io.github.seckill.spring.SeckillOrderListener;
import io.github.seckill.test.SeckillServer;
import java.nio.file.Files;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Stream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.function.Executable;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.*;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.util.SafeEncoder;
import shop.Application;

/**
 * Instances of a shop with a script become instances with the library, one by one, and go back, as
 * docs/moving.md says, while they sell. What buyers were told is compared with the rows.
 */
@EnabledIf("shop.documented.Pages#areHere")
class MovingTest {
    private static final String PREFIX = "voucher";
    private static final Set<String> SOLD = ConcurrentHashMap.newKeySet();
    /** The table of orders, whose key is unique. */
    private static final Map<String, String> ROWS = new ConcurrentHashMap<>();
    private static volatile boolean isDown;
    private static volatile String onSale = "7";

    @AutoClose private final SeckillServer server = SeckillServer.start();
    @AutoClose private final Jedis operator = new Jedis(server.host(), server.port(), 60_000);
    private final Deque<AutoCloseable> instances = new ArrayDeque<>();

    /** Somebody who buys what is on sale until they are stopped, for another user each time. */
    private interface Shop {
        /** The id of the order, if it was accepted. */
        Optional<String> buy(String voucher, String user);
    }

    private static AutoCloseable buyers(Shop shop) {
        CountDownLatch over = new CountDownLatch(1);
        CompletableFuture<Void> buying = CompletableFuture.runAsync(() -> {
            try {
                while (!over.await(5, TimeUnit.MILLISECONDS)) {
                    String voucher = onSale;
                    String user = UUID.randomUUID().toString();
                    shop.buy(voucher, user).ifPresent(id ->
                            SOLD.add(id + " " + voucher + " " + user));
                }
            } catch (InterruptedException ended) {
                throw new IllegalStateException(ended);
            }
        }, work -> new Thread(work).start());
        return () -> {
            over.countDown();
            buying.join();
        };
    }

    private static void row(String id, String voucher, String user) {
        if (isDown) {
            throw new IllegalStateException("the database is down");
        }
        ROWS.putIfAbsent(id, voucher + " " + user);
    }

    /** The new version. */
    @EnableAutoConfiguration
    static class NewShop {
        @SeckillOrderListener(group = "g1")
        void row(OrderPlaced placed) {
            OrderRef order = placed.order();
            MovingTest.row(order.orderId(), order.voucher(), order.user());
        }
    }

    private void startNew() {
        var context = Application.run(NewShop.class, server);
        SeckillClient seckill = context.getBean(SeckillClient.class);
        AutoCloseable buyers = buyers((voucher, user) -> {
            String orderId = seckill.nextId(PREFIX); // Or any id of yours that no other order has.
            return switch (seckill.tryBuy(voucher, user, orderId).outcome()) {
                case ACCEPTED -> Optional.of(orderId);
                case SOLD_OUT, AT_LIMIT -> Optional.empty();
                default -> throw new IllegalStateException("to be repeated: " + orderId);
            };
        });
        instances.add(() -> {
            buyers.close();
            context.close();
        });
    }

    /** The old version: ids of a counter, a script, and a loop that reads the stream. */
    private void startOld(String name) throws Exception {
        var connections = new LettuceConnectionFactory(
                new RedisStandaloneConfiguration(server.host(), server.port()));
        connections.afterPropertiesSet();
        connections.start();
        StringRedisTemplate redis = new StringRedisTemplate(connections);
        AutoCloseable buyers = buyers((voucher, user) -> {
            String orderId = String.valueOf(
                    redis.opsForValue().increment("icr:" + PREFIX + ":2026:11:22"));
            return redis.execute(script(), List.of(), voucher, user, orderId) == 0
                    ? Optional.of(orderId)
                    : Optional.empty();
        });
        CountDownLatch over = new CountDownLatch(1);
        CompletableFuture<Void> loop = CompletableFuture.runAsync(
                () -> consume(redis, name, over), work -> new Thread(work).start());
        instances.add(() -> {
            buyers.close();
            over.countDown();
            loop.join();
            connections.destroy();
        });
    }

    private static DefaultRedisScript<Long> script() {
        try {
            return new DefaultRedisScript<>(Files.readString(Pages.ROOT.resolve(
                    "examples/java-spring/src/main/resources/seckill.lua")), Long.class);
        } catch (java.io.IOException missing) {
            throw new java.io.UncheckedIOException(missing);
        }
    }

    /** The usual loop: after a failure it reads what it has not acknowledged. */
    @SuppressWarnings("unchecked") // of Spring's varargs
    private static void consume(StringRedisTemplate redis, String name, CountDownLatch over) {
        var streams = redis.<String, String>opsForStream();
        ReadOffset from = ReadOffset.lastConsumed();
        while (over.getCount() > 0) {
            try {
                var records = streams.read(
                        Consumer.from("g1", name),
                        StreamReadOptions.empty().count(1).block(Duration.ofMillis(500)),
                        StreamOffset.create("stream.orders", from));
                if (records == null || records.isEmpty()) {
                    from = ReadOffset.lastConsumed();
                    continue;
                }
                Map<String, String> order = records.get(0).getValue();
                row(order.get("id"), order.get("voucherId"), order.get("userId"));
                streams.acknowledge("g1", records.get(0));
            } catch (RuntimeException failed) {
                from = ReadOffset.from("0");
            }
        }
    }

    private Object run(String line) {
        String[] words = line.split(" ");
        byte[] name = SafeEncoder.encode(words[0]);
        return SafeEncoder.encodeObject(operator.sendCommand(
                () -> name, Arrays.copyOfRange(words, 1, words.length)));
    }

    private static void awaitSales() {
        int before = SOLD.size();
        await("sales").until(() -> SOLD.size() > before + 60);
    }

    private void replaceOldest(Executable start) throws Throwable {
        instances.remove().close();
        start.execute();
        awaitSales();
    }

    @Test
    void everyOrderOfAShopThatMovesIsARow() throws Throwable {
        String page = Files.readString(Pages.ROOT.resolve("docs/moving.md"));
        String claim = "XAUTOCLAIM stream.orders g1 c1 0 0-0";
        String unblock = "CLIENT UNBLOCK <id> ERROR";
        assertThat(page).contains(claim, unblock);
        run("XGROUP CREATE stream.orders g1 0 MKSTREAM");
        run("SET seckill:stock:7 1000000");
        operator.configSet("seckill.scripts",
                script().getSha1() + " SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]");
        startOld("c1");
        startOld("c2");
        awaitSales();
        for (int i = 0; i < 2; i++) {
            replaceOldest(this::startNew);
        }
        run("SET seckill:stock:13 1000000");
        run("SECKILL.CREATE 13 ADOPT");
        onSale = "13";
        awaitSales();
        isDown = true;
        awaitSales();
        for (String name : List.of("c1", "c2")) {
            replaceOldest(() -> startOld(name));
        }
        assertThat(run("XPENDING stream.orders g1").toString()).contains("[returned, ");
        isDown = false;
        awaitSales();
        onSale = "none"; // A voucher that nobody has.
        run("SET seckill:stock:none 0");
        await("read").until(() -> run("XINFO GROUPS stream.orders").toString().endsWith("lag, 0]]"));
        await("handled").until(() -> {
            run(claim);
            Stream.of(operator.clientList().split("\n")).filter(line -> line.contains("cmd=xreadgroup"))
                    .map(line -> line.replaceAll("^id=(\\d+) .*", "$1"))
                    .forEach(id -> run(unblock.replace("<id>", id)));
            return operator.xpending("stream.orders", "g1").getTotal() == 0;
        });
        while (!instances.isEmpty()) {
            instances.remove().close();
        }
        Set<String> rows = new HashSet<>();
        ROWS.forEach((id, row) -> rows.add(id + " " + row));
        assertThat(rows).isEqualTo(SOLD);
        assertThat(operator.scard("seckill:order:7") + operator.scard("seckill:order:13"))
                .isEqualTo(rows.size());
        // Ids of the library are of the shop's counters.
        assertThat(operator.keys("icr:*")).allMatch(key -> key.startsWith("icr:voucher:"));
        assertThat(run("SECKILL.AUDIT 13 CURSOR 0").toString()).contains("differences, []");
    }
}
