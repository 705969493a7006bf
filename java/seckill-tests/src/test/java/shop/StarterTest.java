package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.SaleRules;
import io.github.seckill.spring.SeckillLockRegistry;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.spring.SeckillTemplate.LockedWork;
import io.github.seckill.spring.test.SeckillServiceConnection;
import io.github.seckill.test.SeckillServer;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Lock;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.context.TestPropertySource;

/** What an application gets from the starter alone. */
@SpringBootTest(classes = Application.class)
@SeckillServiceConnection(options = {"--hz", "50"})
@TestPropertySource(properties = {
    "spring.application.name=rows", "seckill.listener.poll=50ms", "seckill.check-on-start=fail",
    Application.NO_REDISSON
})
class StarterTest {
    @Autowired private SeckillTemplate template;
    @Autowired private ApplicationContext context;

    @Test
    void triesAreMeasuredByOutcomeAndBatch() {
        MeterRegistry meters = context.getBean(MeterRegistry.class);
        Timer accepted = meters.get("seckill.tries").tag("outcome", "accepted").timer();
        Timer soldOut = meters.get("seckill.tries").tag("outcome", "sold_out").timer();
        long acceptedBefore = accepted.count();
        long soldOutBefore = soldOut.count();
        long batchesBefore = meters.get("seckill.batch").summary().count();
        template.run(create("measured", 1, SaleRules.none()));
        template.tryBuy("measured", "alice", "m1");
        template.tryBuy("measured", "bob", "m2");
        // The observer may be told a moment after the caller.
        await().until(() -> accepted.count() == acceptedBefore + 1);
        await().until(() -> soldOut.count() == soldOutBefore + 1);
        assertThat(soldOut.totalTime(TimeUnit.NANOSECONDS)).isPositive();
        assertThat(meters.get("seckill.batch").summary().count()).isEqualTo(batchesBefore + 2);
        await().until(() -> meters.find("seckill.listener").tag("group", "rows")
                .tag("kind", "placed").tag("result", "handled").timer() != null);
        // Observations are spans where there is tracing, and timers at least.
        assertThat(meters.get("seckill.command").tag("command", "SECKILL.TRY")
                .tag("reply", "sold_out").timer().count()).isPositive();
        await().until(() -> meters.find("seckill.listener.call").tag("group", "rows")
                .tag("kind", "placed").timer() != null);
    }

    @Test
    void theServerIsTheTestsOwn() {
        SeckillServer server = context.getBean(SeckillServer.class);
        assertThat(server.isAlive()).isTrue();
        var factory = context.getBean(StringRedisTemplate.class).getConnectionFactory();
        assertThat(factory).hasFieldOrPropertyWithValue("port", server.port());
    }

    @Test
    void workUnderALockExcludesOthers() throws Exception {
        Optional<Long> token = template.underLock("lock:report", Duration.ofSeconds(1), lock -> {
            assertThat(elsewhere("lock:report")).isEmpty();
            return lock.fencingToken();
        });
        assertThat(token).hasValueSatisfying(fence -> assertThat(fence).isPositive());
        assertThat(elsewhere("lock:report")).contains("done");
        assertThat(template.underLock("lock:report", Duration.ofSeconds(1), lock -> null))
                .isEmpty();
    }

    private Optional<String> elsewhere(String key) {
        return CompletableFuture.supplyAsync(() -> {
            try {
                return template.underLock(key, Duration.ofMillis(1), lock -> "done");
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }).join();
    }

    @Test
    void workThatThrowsReleasesItsLock() {
        LockedWork<String, RuntimeException> throwing = lock -> {
            throw new IllegalArgumentException("no");
        };
        assertThatThrownBy(() ->
                template.underLock("lock:thrown", Duration.ofSeconds(1), throwing))
                .hasMessage("no");
        assertThat(elsewhere("lock:thrown")).contains("done");
    }

    @Test
    void theLockRegistryOfSpringIntegrationLocks() throws Exception {
        SeckillLockRegistry registry = context.getBean(SeckillLockRegistry.class);
        Lock lock = registry.obtain("import");
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(registry.obtain("import").tryLock()).as("reentrant").isTrue();
        assertThat(elsewhere("lock:import")).isEmpty();
        registry.obtain("import").unlock();
        assertThat(elsewhere("lock:import")).isEmpty();
        lock.unlock();
        assertThat(elsewhere("lock:import")).contains("done");
    }
}
