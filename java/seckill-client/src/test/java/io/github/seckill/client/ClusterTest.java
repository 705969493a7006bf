package io.github.seckill.client;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A cluster: routing by the voucher, a slot that moves, a primary that dies. */
class ClusterTest {
    private static final int THREADS = 8;
    private static final SeckillOptions PATIENT =
            SeckillOptions.defaults().retryFor(Duration.ofSeconds(30));

    private TestCluster cluster;
    private RedisClusterClient lettuce;

    @BeforeEach
    void start() throws Exception {
        cluster = TestCluster.start();
        lettuce = cluster.client();
    }

    @AfterEach
    void stop() {
        lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        cluster.close();
    }

    private SeckillClient client(SeckillOptions options) {
        return SeckillClient.create(LettuceTransport.of(lettuce), options);
    }

    @Test
    void vouchers_locks_and_ids_find_their_nodes() throws Exception {
        Set<Integer> primaries = new HashSet<>();
        try (SeckillClient client = client(PATIENT)) {
            for (int i = 0; i < 20; i++) {
                String voucher = "v" + i;
                primaries.add(cluster.primaryOf(voucher));
                client.run(create(voucher, 1, SaleRules.none()));
                assertThat(client.tryBuy(voucher, "alice", "o1")).isEqualTo(Outcome.ACCEPTED);
                assertThat(client.tryBuy(voucher, "bob", "o2")).isEqualTo(Outcome.SOLD_OUT);
                SeckillLock lock = client.lock("lock" + i);
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
                client.run(nextId("p" + i));
            }
        }
        assertThat(primaries).hasSize(3);
    }

    /** What many threads are told that buy until they are stopped. */
    private final class Crowd {
        private final SeckillClient client;
        private final AtomicInteger users = new AtomicInteger();
        private final AtomicBoolean over = new AtomicBoolean();
        private final List<Future<Map<Outcome, Integer>>> threads = new ArrayList<>();
        private final CountDownLatch warm = new CountDownLatch(THREADS);
        private final ExecutorService pool = Executors.newFixedThreadPool(THREADS);

        Crowd(SeckillClient client) throws InterruptedException {
            this.client = client;
            for (int i = 0; i < THREADS; i++) {
                threads.add(pool.submit(this::buy));
            }
            warm.await();
        }

        private Map<Outcome, Integer> buy() {
            Map<Outcome, Integer> told = new EnumMap<>(Outcome.class);
            for (int tries = 0; !over.get(); tries++) {
                int user = users.incrementAndGet();
                told.merge(client.tryBuy("7", "u" + user, "o" + user), 1, Integer::sum);
                if (tries == 20) {
                    warm.countDown();
                }
            }
            return told;
        }

        Map<Outcome, Integer> stop() throws Exception {
            over.set(true);
            Map<Outcome, Integer> all = new EnumMap<>(Outcome.class);
            for (Future<Map<Outcome, Integer>> thread : threads) {
                thread.get().forEach((outcome, count) -> all.merge(outcome, count, Integer::sum));
            }
            pool.shutdown();
            return all;
        }
    }

    @Test
    void a_slot_moves_while_its_voucher_sells() throws Exception {
        int from = cluster.primaryOf("7");
        int to = (from + 1) % 3;
        try (SeckillClient client = client(PATIENT)) {
            client.run(create("7", 1_000_000, SaleRules.none()));
            Crowd crowd = new Crowd(client);
            cluster.move("7", from, to);
            assertThat(client.tryBuy("7", "after", "after")).isEqualTo(Outcome.ACCEPTED);
            Map<Outcome, Integer> told = crowd.stop();
            assertThat(told).containsOnlyKeys(Outcome.ACCEPTED);
            assertThat(cluster.node(to).get("seckill:stock:{7}"))
                    .isEqualTo(String.valueOf(1_000_000 - 1 - told.get(Outcome.ACCEPTED)));
            assertThat(client.run(audit("7")).isSound()).isTrue();
        }
    }

    @Test
    void a_primary_dies_while_its_voucher_sells() throws Exception {
        String voucher = "7";
        // The first primary is the one with a replica.
        if (cluster.primaryOf(voucher) != 0) {
            cluster.move(voucher, cluster.primaryOf(voucher), 0);
        }
        try (SeckillClient client = client(PATIENT)) {
            client.run(create(voucher, 1_000_000, SaleRules.none()));
            Crowd crowd = new Crowd(client);
            cluster.server(0).kill();
            assertThat(client.tryBuy(voucher, "after", "after")).isEqualTo(Outcome.ACCEPTED);
            assertThat(crowd.stop()).containsOnlyKeys(Outcome.ACCEPTED);
            assertThat(cluster.node(3).role().get(0)).isEqualTo("master");
            SaleAudit audit = client.run(audit(voucher));
            assertThat(audit.isSound()).isTrue();
            assertThat(audit.sold()).isPositive();
        }
    }

    @Test
    void sold_out_is_forgotten_when_the_slot_moves() throws Exception {
        int from = cluster.primaryOf("7");
        int to = (from + 1) % 3;
        AtomicInteger remembered = new AtomicInteger();
        SeckillObserver observer = new SeckillObserver() {
                    @Override
                    public void rememberedSoldOut() {
                        remembered.incrementAndGet();
                    }
                };
        SeckillOptions options = PATIENT.rememberSoldOut(true).soldOutFor(Duration.ofHours(1));
        try (SeckillClient client =
                new SeckillClient(LettuceTransport.of(lettuce), options, observer)) {
            client.run(create("7", 1, SaleRules.none()));
            client.tryBuy("7", "alice", "o1");
            awaitMemory(client, remembered);
            cluster.move("7", from, to);
            awaitMemory(client, remembered);

            CompletableFuture<Outcome> bobs =
                    CompletableFuture.supplyAsync(() -> buyUntilAnswered(client, "bob"));
            client.run(cancel(OrderRef.of("7", "alice", "o1")));
            assertThat(bobs.get()).isEqualTo(Outcome.ACCEPTED);
            awaitMemory(client, remembered);
        }
    }

    /** The order id is the same each time: once accepted, it stays so. */
    private static Outcome buyUntilAnswered(SeckillClient client, String user) {
        long started = System.nanoTime();
        while (true) {
            Outcome outcome = client.tryBuy("7", user, user);
            if (outcome != Outcome.SOLD_OUT
                    || System.nanoTime() - started > Duration.ofSeconds(20).toNanos()) {
                return outcome;
            }
        }
    }

    private static void awaitMemory(SeckillClient client, AtomicInteger remembered)
            throws Exception {
        int before = remembered.get();
        Until.holds(
                "remembered",
                () ->
                        client.tryBuy("7", "zoe", "oz" + remembered) == Outcome.SOLD_OUT
                                && remembered.get() > before);
    }
}
