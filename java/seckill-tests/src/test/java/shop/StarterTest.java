package shop;

import static org.assertj.core.api.Assertions.*;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillClient.LockedWork;
import io.github.seckill.test.*;
import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.locks.Lock;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.*;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.support.locks.LockRegistry;
import org.springframework.test.context.TestPropertySource;

/** What an application gets from the starter alone. */
@SpringBootTest(classes = Application.class)
@SeckillServiceConnection(options = {"--hz", "50"})
@TestPropertySource(properties = {
    "spring.application.name=rows", "seckill.listener.poll=50ms",
    "spring.threads.virtual.enabled=true", "seckill.command-timeout=20s",
    "seckill.retry-for=60s", Application.NO_REDISSON
})
class StarterTest {
    @Autowired private SeckillClient template;
    @Autowired private ApplicationContext context;
    private int turns;

    @Test
    void theServerIsTheTestsOwn() {
        SeckillServer server = context.getBean(SeckillServer.class);
        assertThat(server.isAlive()).isTrue();
        var factory = context.getBean(StringRedisTemplate.class).getConnectionFactory();
        assertThat(factory).hasFieldOrPropertyWithValue("port", server.port());
    }

    @Test
    void workUnderALockExcludesOthers() throws Exception {
        Duration forever = ChronoUnit.FOREVER.getDuration();
        Optional<Long> token = template.underLock("lock:report", forever, lock -> {
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
        LockRegistry registry = context.getBean(LockRegistry.class);
        Lock lock = registry.obtain("import");
        assertThat(lock.tryLock(1, TimeUnit.SECONDS)).isTrue();
        assertThat(registry.obtain("import").tryLock()).as("reentrant").isTrue();
        assertThat(elsewhere("lock:import")).isEmpty();
        registry.obtain("import").unlock();
        assertThat(elsewhere("lock:import")).isEmpty();
        lock.unlock();
        assertThat(elsewhere("lock:import")).contains("done");
    }

    /** Many more buyers and holders of a lock than the machine has threads to carry them. */
    @Test
    @EnabledForJreRange(min = JRE.JAVA_21)
    void virtualThreadsBuyAndTakeTurns() throws Exception {
        template.create("virtual", 200, SaleRules.none());
        // Compiled for Java 17.
        var threads = (ExecutorService)
                Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        List<Future<Purchase>> outcomes = IntStream.range(0, 1_000).mapToObj(i ->
                threads.submit(() -> template.tryBuy("virtual", "b" + i, "b" + i))).toList();
        var all = IntStream.range(0, 50).mapToObj(i -> threads.submit(() -> template.underLock(
                "lock:turns", Duration.ofSeconds(60), lock -> turns++))).toList();
        int accepted = 0;
        for (Future<Purchase> outcome : outcomes) {
            accepted += outcome.get().isAccepted() ? 1 : 0;
        }
        for (Future<?> turn : all) {
            turn.get();
        }
        assertThat(accepted).isEqualTo(200);
        assertThat(turns).isEqualTo(50);
        assertThat(template.audit("virtual").isSound()).isTrue();
    }
}
