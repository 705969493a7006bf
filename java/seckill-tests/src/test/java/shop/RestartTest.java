package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.spring.SeckillLockRegistry;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.micrometer.core.instrument.MeterRegistry;
import java.time.Duration;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

/** A context that is stopped and started again, as the contexts of tests are by Spring 7. */
class RestartTest {
    @AutoClose private final SeckillServer server = SeckillServer.start();

    private ConfigurableApplicationContext run() {
        return Application.run(
                Application.class, server, "seckill.retry-for=100ms",
                "seckill.command-timeout=10s", // A busy machine takes long to connect.
                "seckill.sold-out-for=10m", "seckill.remember-sold-out=true");
    }

    @Test
    void itGoesOn() throws InterruptedException {
        try (var context = run()) {
            SeckillTemplate template = context.getBean(SeckillTemplate.class);
            template.run(create("7", 2, SaleRules.none()));
            assertThat(template.tryBuy("7", "alice", "a1")).isEqualTo(Outcome.ACCEPTED);

            context.stop();
            assertThatThrownBy(() -> template.tryBuy("7", "bob", "b1"))
                    .isInstanceOf(SeckillException.NotNow.class)
                    .hasMessageContaining("the transport is closed");
            assertThatThrownBy(() -> template.underLock("lock", Duration.ofMillis(1), lock -> 1))
                    .isInstanceOf(SeckillException.NotNow.class);

            context.start();
            assertThat(template.tryBuy("7", "bob", "b1")).isEqualTo(Outcome.ACCEPTED);
            assertThat(template.underLock("lock", Duration.ofSeconds(5), lock -> 1)).contains(1);
            String key = "placed:" + template.run(info("7")).sale() + ":7:b1";
            await().until(() -> context.getBean(Application.class).rows.containsKey(key));
        }
    }

    @Test
    void soldOutIsRememberedAgain() {
        try (var context = run()) {
            SeckillTemplate template = context.getBean(SeckillTemplate.class);
            template.run(create("7", 1, SaleRules.none()));
            assertThat(template.tryBuy("7", "alice", "a1")).isEqualTo(Outcome.ACCEPTED);
            await().until(() -> remembers(context, "7"));
            context.stop();
            context.start();
            await().until(() -> remembers(context, "7"));
            template.run(cancel(OrderRef.of("7", "alice", "a1")));
            // The announcement comes by the new connection.
            await().until(() -> template.tryBuy("7", "carol", "c1") == Outcome.ACCEPTED);
        }
    }

    @Test
    void aLockThatIsNotTiedToItsConnectionIsReleasedAtTheEnd() {
        try (RedisClient lettuce = RedisClient.create(server.uri());
                var connection = lettuce.connect()) {
            try (var context = Application.run(
                    Application.class, server, "seckill.lock.session=false",
                    "seckill.lock.lease=1h")) {
                context.getBean(SeckillLockRegistry.class).obtain("report").lock();
                assertThat(connection.sync().exists("lock:report")).isEqualTo(1);
            }
            assertThat(connection.sync().exists("lock:report")).isZero();
        }
    }

    /** Whether a try was answered sold out without asking the server. */
    static boolean remembers(ConfigurableApplicationContext context, String voucher) {
        SeckillTemplate template = context.getBean(SeckillTemplate.class);
        var remembered = context.getBean(MeterRegistry.class).get("seckill.remembered").counter();
        double before = remembered.count();
        assertThat(template.tryBuy(voucher, "bob", "b" + System.nanoTime()))
                .isEqualTo(Outcome.SOLD_OUT);
        return remembered.count() > before;
    }
}
