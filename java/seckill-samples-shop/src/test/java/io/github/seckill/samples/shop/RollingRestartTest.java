package io.github.seckill.samples.shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.web.client.RestClientException;

/** Two instances over MariaDB, of which one after the other ends while they sell. */
@EnabledIf("io.github.seckill.samples.shop.MariaDb#isInstalled")
class RollingRestartTest {
    private static final int BUYERS = 1_200;
    private static final int STOCK = 1_000;
    private static final Duration PATIENCE = Duration.ofMinutes(5);

    @TempDir private Path folder;
    @AutoClose private final SeckillServer server = SeckillServer.start();
    @AutoClose private final RedisClient lettuce = RedisClient.create(server.uri());
    private final AtomicInteger answered = new AtomicInteger();

    /** A Java virtual machine with the shop. */
    private final class Instance implements AutoCloseable {
        private final int port = SeckillServer.freePort();
        private final Buyer.Http http = new Buyer.Http(port);
        private final MariaDb database;
        private Process process;

        Instance(MariaDb database) throws IOException {
            this.database = database;
            start();
        }

        void start() throws IOException {
            String classes = System.getProperty(
                    "surefire.test.class.path", System.getProperty("java.class.path"));
            process = new ProcessBuilder(
                    ProcessHandle.current().info().command().orElseThrow(), "-cp", classes,
                    ShopApplication.class.getName(), "--server.port=" + port,
                    "--spring.profiles.active=mariadb", "--spring.data.redis.url=" + server.uri(),
                    "--spring.datasource.url=" + database.url(),
                    "--spring.datasource.username=root", "--seckill.command-timeout=5s",
                    "--seckill.listener.claim-after=3s")
                    .redirectErrorStream(true)
                    .redirectOutput(folder.resolve("shop-" + port + ".log").toFile()).start();
        }

        void awaitUp() {
            await("up").atMost(PATIENCE).until(() -> put("/sales/none/orders/x", "", "x") == 404);
        }

        /** The status; 0 if nobody has answered. */
        int put(String path, String body, String user) {
            try {
                return http.put(path, body, user);
            } catch (RestClientException away) {
                return 0;
            }
        }

        @Override
        public void close() {
            process.destroyForcibly().onExit().join();
        }
    }

    /** Asks by turns until one has answered, always with the same order id. */
    private int buy(List<Instance> instances, int number) throws InterruptedException {
        for (int turn = number; ; turn++) {
            int status = instances.get(turn % instances.size())
                    .put("/sales/phone/orders/o" + number, "", "user" + number);
            if (status == 200 || status == 409) {
                answered.incrementAndGet();
                return status;
            }
            Thread.sleep(20);
        }
    }

    @Test
    void whoWasToldYesHasOneRow() throws Exception {
        try (MariaDb database = new MariaDb();
                Instance one = new Instance(database)) {
            one.awaitUp();
            try (Instance two = new Instance(database)) {
                two.awaitUp();
                String sale = "{\"stock\":" + STOCK + ",\"holdSeconds\":3600}";
                assertThat(one.put("/sales/phone", sale, "shop")).isEqualTo(201);
                Set<String> told = sell(List.of(one, two));
                assertThat(told).hasSize(STOCK);
                await("rows").atMost(PATIENCE).until(() -> rows(database).containsAll(told));
                assertThat(rows(database)).containsExactlyInAnyOrderElementsOf(told);
                SeckillOptions patient = SeckillOptions.defaults().commandTimeout(PATIENCE);
                try (SeckillClient office = SeckillClient.create(lettuce, patient)) {
                    assertThat(office.audit("phone").isSound()).isTrue();
                    assertThat(office.audit("phone").held()).isEqualTo(STOCK);
                }
            }
        }
    }

    /** Returns the orders that were accepted. */
    private Set<String> sell(List<Instance> instances) throws Exception {
        Set<String> told = ConcurrentHashMap.newKeySet();
        ExecutorService pool = Executors.newFixedThreadPool(16);
        try {
            List<Future<?>> buyers = new ArrayList<>();
            for (int i = 0; i < BUYERS; i++) {
                int number = i;
                buyers.add(pool.submit(() -> {
                    // In three parts, so that each end comes while they buy.
                    while (answered.get() < number / 300 * 300 - 100) {
                        Thread.sleep(5);
                    }
                    if (buy(instances, number) == 200) {
                        told.add("o" + number);
                    }
                    return null;
                }));
            }
            Instance one = instances.get(0);
            Instance two = instances.get(1);
            awaitAnswers(200);
            one.close();
            one.start();
            awaitAnswers(500);
            one.awaitUp();
            two.process.destroy();
            two.process.onExit().join();
            two.start();
            awaitAnswers(800);
            two.awaitUp();
            one.close();
            one.start();
            for (Future<?> buyer : buyers) {
                buyer.get();
            }
            one.awaitUp();
            return told;
        } finally {
            pool.shutdownNow();
        }
    }

    private void awaitAnswers(int count) {
        await(count + " answered").atMost(PATIENCE).until(() -> answered.get() >= count);
    }

    private static List<String> rows(MariaDb database) throws Exception {
        List<String> rows = new ArrayList<>();
        try (var connection = DriverManager.getConnection(database.url(), "root", "");
                var statement = connection.createStatement();
                var found = statement.executeQuery(
                        "SELECT order_id FROM orders WHERE voucher = 'phone'")) {
            while (found.next()) {
                rows.add(found.getString(1));
            }
        }
        return rows;
    }
}
