package shop;

import static org.assertj.core.api.Assertions.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.*;
import java.io.IOException;
import java.nio.file.*;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.locks.Lock;
import java.util.stream.Stream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.integration.support.locks.LockRegistry;

/** A context that stops and starts again, and a primary that is killed while it sells. */
class RestartTest {
    @AutoClose private final SeckillServer server = SeckillServer.start();

    private ConfigurableApplicationContext run() {
        return Application.run(
                Application.class, server, "seckill.retry-for=100ms",
                "seckill.lock.session=false", "seckill.lock.lease=1h");
    }

    @Test
    void itGoesOn() throws InterruptedException {
        try (var context = run()) {
            SeckillClient template = context.getBean(SeckillClient.class);
            template.create("7", 2, SaleRules.none());
            assertThat(template.tryBuy("7", "alice", "a1").outcome()).isEqualTo(Outcome.ACCEPTED);

            // Not tied to a connection, it would be held for its lease.
            Lock held = context.getBean(LockRegistry.class).obtain("report");
            held.lock();
            context.stop();
            assertThatThrownBy(() -> template.tryBuy("7", "bob", "b1"))
                    .isInstanceOf(SeckillException.NotNow.class)
                    .hasMessageContaining("the client is disconnected");
            assertThatThrownBy(() -> template.underLock("lock", Duration.ofMillis(1), lock -> 1))
                    .isInstanceOf(SeckillException.NotNow.class);

            context.start();
            assertThat(template.tryBuy("7", "bob", "b1").outcome()).isEqualTo(Outcome.ACCEPTED);
            assertThat(template.underLock("lock", Duration.ofSeconds(5), lock -> 1)).contains(1);
            assertThat(CompletableFuture.supplyAsync(held::tryLock).join()).isTrue();
            String key = "placed:" + template.info("7").sale() + ":7:b1";
            await().until(() -> context.getBean(Application.class).rows.containsKey(key));
        }
    }

    /** A process that watches a primary and ends with the test. */
    private record Sentinel(Process process, int port) implements AutoCloseable {
        static Sentinel of(SeckillServer primary, Path folder) throws IOException {
            int port = SeckillServer.freePort();
            Path file = Files.write(folder.resolve("sentinel.conf"), List.of(
                    "port " + port, "bind 127.0.0.1", "dir " + folder,
                    "sentinel monitor shop 127.0.0.1 " + primary.port() + " 1",
                    "sentinel down-after-milliseconds shop 500",
                    "sentinel failover-timeout shop 5000"));
            Path log = folder.resolve("sentinel.log");
            Process process =
                    new ProcessBuilder(SeckillServer.program(), file.toString(), "--sentinel")
                            .redirectErrorStream(true).redirectOutput(log.toFile()).start();
            await().until(() -> Files.readString(log).contains("+monitor"));
            return new Sentinel(process, port);
        }

        RedisURI uri() {
            return RedisURI.create("redis://127.0.0.1:" + port);
        }

        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
        }
    }

    private static ConfigurableApplicationContext run(Sentinel sentinel) {
        return Application.run(
                Application.class, null, "spring.data.redis.sentinel.master=shop",
                "spring.data.redis.sentinel.nodes=127.0.0.1:" + sentinel.port(),
                "seckill.retry-for=60s", "seckill.command-timeout=5s");
    }

    /** A primary that is frozen closes no connection, and answers nothing. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void theSaleGoesOn(boolean frozen, @TempDir Path folder) throws Exception {
        try (SeckillServer primary = SeckillServer.start();
                SeckillServer replica = SeckillServer.start(
                        "--replicaof", primary.host(), String.valueOf(primary.port()),
                        "--repl-diskless-sync-delay", "0");
                RedisClient lettuce = RedisClient.create(replica.uri());
                var connection = lettuce.connect()) {
            var plain = connection.sync();
            await().until(() -> plain.info("replication").contains("master_link_status:up"));
            try (Sentinel sentinel = Sentinel.of(primary, folder);
                    var watcher = lettuce.connectSentinel(sentinel.uri());
                    var context = run(sentinel);
                    SeckillClient office = SeckillClient.create(lettuce, Shop.PATIENT)) {
                await().until(() -> watcher.sync().replicas("shop").size() == 1);
                SeckillClient template = context.getBean(SeckillClient.class);
                template.create("7", 10_000_000, SaleRules.none());
                Crowd buyers = new Crowd(template);
                await().until(() -> plain.exists("seckill:stock:7") == 1);

                List<SeckillLock> locks =
                        Stream.of("a", "b", "c").map(key -> template.lock("lock:" + key)).toList();
                locks.forEach(SeckillLock::lock);
                locks.forEach(SeckillLock::unlock);
                if (frozen) {
                    primary.freeze();
                } else {
                    primary.kill();
                }
                // Whoever promotes a replica has its connections closed, also this one.
                await().ignoreExceptionsInstanceOf(RedisException.class)
                        .until(() -> plain.info("replication").contains("role:master"));
                List<String> later = buyers.awaitMore(20);
                assertThat(buyers.stop()).containsOnlyKeys(Outcome.ACCEPTED);
                assertThat(later).hasSizeGreaterThanOrEqualTo(20)
                        .allSatisfy(order -> assertThat(office.order("7", order)).isPresent());
                assertThat(office.audit("7").isSound()).isTrue();
                // None of those that were kept is tried.
                assertThat(template.lock("lock:d").tryLock()).isTrue();
                template.lock("lock:d").unlock();
            }
        }
    }
}
