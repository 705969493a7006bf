package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderFailurePolicy;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.*;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.test.system.*;
import org.springframework.context.ApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.core.*;
import org.springframework.integration.support.locks.LockRegistry;

/** A listener goes on, whatever its methods do, and one that can't is seen. */
@ExtendWith(OutputCaptureExtension.class)
class ListenersTest {
    @AutoClose private final SeckillServer server = SeckillServer.start();

    private static Application shop(ApplicationContext context) {
        return context.getBean(Application.class);
    }

    private static void sell(ApplicationContext context, int orders) {
        SeckillClient seckill = context.getBean(SeckillClient.class);
        seckill.create("7", orders, SaleRules.none());
        for (int i = 0; i < orders; i++) {
            seckill.tryBuy("7", "user" + i, "order" + i);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"throws", "leaves", "asksForIt", "saysNothing", "fails"})
    void anInterruptOrAnErrorEndsOneCallAndNoListener(String how) throws Exception {
        AtomicInteger calls = new AtomicInteger();
        Application.work = event -> {
            if (calls.incrementAndGet() % 3 == 0) {
                switch (how) {
                    case "throws" -> throw new InterruptedException("the database was interrupted");
                    case "leaves" -> Thread.currentThread().interrupt();
                    case "asksForIt" -> {
                        Thread.currentThread().interrupt();
                        Thread.sleep(1);
                    }
                    case "saysNothing" -> throw new IllegalStateException() {
                        @Override
                        public String getMessage() {
                            throw new NullPointerException("whose row was it?");
                        }
                    };
                    default -> throw new StackOverflowError();
                }
            }
        };
        try (var context = Application.run(Application.class, server)) {
            sell(context, 20);
            await().until(() -> shop(context).rows.size() == 20);
            assertThat(Application.health(context)).startsWith("UP");
        }
    }

    /** The methods of an observer and of a policy are the application's, too. */
    static class Throwing extends Application {
        static volatile String where = "";

        @Bean
        ObservationHandler<Observation.Context> observer() {
            return Until.observerThatThrows(() -> where);
        }

        @Bean
        OrderFailurePolicy policy() {
            return failure -> {
                throw new StackOverflowError();
            };
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"onStart", "onScopeOpened", "onScopeClosed", "onError", "onStop"})
    void anObserverOrAPolicyThatThrowsHoldsNothingUp(String at) throws Exception {
        Throwing.where = at;
        AtomicInteger calls = new AtomicInteger();
        Application.work = event -> {
            if (calls.incrementAndGet() == 5) {
                throw new IllegalStateException("once");
            }
        };
        try (var context = Application.run(Throwing.class, server)) {
            sell(context, 20);
            await().until(() -> shop(context).rows.size() == 20);
            assertThat(shop(context).calls).hasSize(21);
        }
    }

    @Test
    void aListenerThatCanNotReadIsDownAndReadsAgain() throws Exception {
        try (var context = Application.run(Application.class, server)) {
            sell(context, 1);
            await().until(() -> shop(context).rows.size() == 1);
            await().until(() -> reading(context) == 1);
            acl(context, "-xreadgroup");
            await().until(() -> Application.health(context).startsWith("DOWN"));
            assertThat(Application.health(context))
                    .contains("server=module loaded").contains("listener rows=reads nothing: ");
            assertThat(reading(context)).isZero();
            context.getBean(SeckillClient.class).create("8", 1, SaleRules.none());
            context.getBean(SeckillClient.class).tryBuy("8", "alice", "a1");
            acl(context, "+xreadgroup");
            await().until(() -> shop(context).rows.size() == 2);
            await().until(() -> Application.health(context).startsWith("UP"));
            assertThat(reading(context)).isEqualTo(1);
        }
    }

    @Test
    void namesConsumersAndReadsAreAsThePropertiesSay(CapturedOutput output) throws Exception {
        try (SeckillServer other = SeckillServer.start(
                        "--seckill.order-stream", "orders", "--seckill.order-fields", "u v o");
                var context = Application.run(
                        Application.class, other, "seckill.listener.stream=orders",
                        "seckill.listener.fields=u v o", "seckill.listener.concurrency=5",
                        "spring.data.redis.lettuce.pool.enabled=true",
                        "spring.data.redis.lettuce.pool.max-active=2",
                        // A read must end before the connection gives it up.
                        "spring.data.redis.timeout=10s", "seckill.listener.poll=1h",
                        "seckill.lock.prefix=mine:")) {
            await().until(() -> reading(context) == 5);
            sell(context, 20);
            await().until(() -> shop(context).rows.size() == 20);
            context.getBean(LockRegistry.class).obtain("report").lock();
            try (var lettuce = RedisClient.create(other.uri())) {
                var plain = lettuce.connect().sync();
                assertThat(plain.exists("mine:report")).isEqualTo(1);
                long reads = Shop.calls(plain, "xreadgroup");
                await().until(() -> Shop.calls(plain, "xreadgroup") > reads + 2);
            }
            assertThat(output).doesNotContain("can't read");
        }
    }

    /** Zero is none: a read that waited as long as that would wait for ever. */
    @Test
    void withoutATimeOutOfItsConnectionAFailedEntryComesAgain() throws Exception {
        AtomicInteger calls = new AtomicInteger();
        Application.work = event -> {
            if (calls.incrementAndGet() == 1) {
                throw new IllegalStateException("once");
            }
        };
        try (var context = Application.run(
                Application.class, server, "spring.data.redis.timeout=0")) {
            await().until(() -> reading(context) == 1);
            sell(context, 1);
            await().until(() -> shop(context).rows.size() == 1);
        }
    }

    /** A lock is as the properties say, whichever way an application takes it. */
    @Test
    void everyFormOfALockIsAsThePropertiesSay() throws Exception {
        try (var context = Application.run(
                        Application.class, server, "seckill.lock.lease=50s",
                        "seckill.lock.fenced=false", "seckill.lock.renew=false");
                var lettuce = RedisClient.create(server.uri())) {
            var plain = lettuce.connect().sync();
            SeckillClient seckill = context.getBean(SeckillClient.class);
            Consumer<String> check = key -> {
                assertThat(plain.pttl(key)).isBetween(30_001L, 50_000L);
                assertThat(plain.exists(key + ":fence")).isZero();
            };
            seckill.underLock("lock:a", Duration.ofSeconds(9), lock -> {
                check.accept("lock:a");
                return null;
            });
            seckill.lock("lock:b").lock();
            check.accept("lock:b");
            context.getBean(LockRegistry.class).obtain("c").lock();
            check.accept("lock:c");
        }
    }

    private static double reading(ApplicationContext context) {
        return context.getBean(MeterRegistry.class).get("seckill.listener.reading")
                .tag("group", "rows").gauge().value();
    }

    private static void acl(ApplicationContext context, String rule) {
        context.getBean(StringRedisTemplate.class).execute((RedisCallback<Object>) connection ->
                connection.execute(
                        "ACL", "SETUSER".getBytes(), "default".getBytes(), rule.getBytes()));
    }

    @Test
    void whatIsTrimmedWhileItIsPendingIsNamed(CapturedOutput output) throws Exception {
        Application.work = event -> {
            throw new IllegalStateException("not today");
        };
        try (var context = Application.run(Application.class, server)) {
            sell(context, 1);
            await().until(() -> output.toString().contains("not today"));
            context.getBean(StringRedisTemplate.class).opsForStream().trim("stream.orders", 0);
            await().until(() -> output.toString().contains(
                    "was trimmed from stream.orders before the group rows had handled it"));
        }
    }

    /** An exception of a database names the value: here it is one line, whoever the buyer is. */
    @Test
    void aBuyersNameForgesNoLine(CapturedOutput output) throws Exception {
        String name = "eve\n03:00:00 ERROR shop.Till -- FORGED\u001b[2J\u202e\u200b\\";
        AtomicInteger calls = new AtomicInteger();
        Application.work = event -> {
            if (calls.incrementAndGet() == 1) {
                String user = event.order().user();
                throw new IllegalStateException("Duplicate entry '" + user + "'");
            }
        };
        String debug = "logging.level.io.github.seckill=debug";
        try (var context = Application.run(Application.class, server, debug)) {
            SeckillClient seckill = context.getBean(SeckillClient.class);
            seckill.create("7", 1, SaleRules.none());
            seckill.tryBuy("7", name, "o1");
            await().until(() -> shop(context).rows.size() == 1);
            assertThat(shop(context).rows.values()).allMatch(
                    event -> event.order().user().equals(name));
            await().until(() -> output.toString().contains("FORGED"));
            String escaped = "'eve\\n03:00:00 ERROR shop.Till -- FORGED"
                    + "\\x1b[2J\\u{202e}\\u{200b}\\\\'";
            List<String> lines =
                    output.toString().lines().filter(line -> line.contains("FORGED")).toList();
            assertThat(lines).hasSizeGreaterThan(1).allMatch(line -> line.contains(escaped));
        }
    }
}
