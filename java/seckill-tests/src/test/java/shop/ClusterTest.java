package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.cluster.SlotHash;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;

/** A cluster: routing by the voucher, a slot that moves, a primary that dies. */
class ClusterTest {
    private static final SeckillOptions PATIENT = SeckillOptions.defaults()
            .commandTimeout(Duration.ofSeconds(10)).retryFor(Duration.ofMinutes(2));

    @AutoClose private final TestCluster cluster = new TestCluster();

    private SeckillClient client() {
        return SeckillClient.create(cluster.client(), PATIENT);
    }

    @Test
    void vouchers_locks_and_ids_find_their_nodes() throws Exception {
        cluster.open();
        Set<Integer> primaries = new HashSet<>();
        try (SeckillClient client = client()) {
            for (int i = 0; i < 20; i++) {
                String voucher = "v" + i;
                primaries.add(cluster.primaryOf(voucher));
                client.create(voucher, 1, SaleRules.none());
                assertThat(client.tryBuy(voucher, "alice", "o1").outcome()).isEqualTo(Outcome.ACCEPTED);
                assertThat(client.tryBuy(voucher, "bob", "o2").outcome()).isEqualTo(Outcome.SOLD_OUT);
                SeckillLock lock = client.lock("lock" + i);
                assertThat(lock.tryLock()).isTrue();
                lock.unlock();
                client.nextId("p" + i);
            }
        }
        assertThat(primaries).hasSize(3);
    }

    private interface Event {
        void happens() throws Exception;
    }

    /** A voucher that is sold without a mistake while something happens to the cluster. */
    private static Map<Outcome, Integer> sellWhile(SeckillClient client, Event event)
            throws Exception {
        client.create("7", 1_000_000, SaleRules.none());
        Crowd crowd = new Crowd(client);
        event.happens();
        assertThat(client.tryBuy("7", "after", "after").outcome()).isEqualTo(Outcome.ACCEPTED);
        Map<Outcome, Integer> told = crowd.stop();
        assertThat(told).containsOnlyKeys(Outcome.ACCEPTED);
        SaleAudit audit = client.audit("7");
        assertThat(audit.isSound()).isTrue();
        assertThat(audit.sold()).isPositive();
        return told;
    }

    @Test
    void a_slot_moves_while_its_voucher_sells() throws Exception {
        cluster.open();
        int from = cluster.primaryOf("7");
        int to = (from + 1) % 3;
        try (SeckillClient client = client()) {
            int sold = 1 + sellWhile(client, () -> cluster.move("7", from, to))
                    .get(Outcome.ACCEPTED);
            assertThat(cluster.node(to).get("seckill:stock:{7}"))
                    .isEqualTo(String.valueOf(1_000_000 - sold));
        }
    }

    @Test
    void a_primary_dies_while_its_voucher_sells() throws Exception {
        cluster.open();
        int dying = cluster.primaryOf("7");
        try (SeckillClient client = client()) {
            sellWhile(client, () -> {
                // What its replica has not heard of by then dies with it: not all of the sale.
                cluster.node(dying).set("{7}:last", "1");
                assertThat(cluster.node(dying).waitForReplication(1, 60_000)).isEqualTo(1);
                cluster.server(dying).kill();
            });
            assertThat(cluster.node(3 + dying).role().get(0)).isEqualTo("master");
        }
    }

    @Test
    void a_planned_failover_sells_on_and_its_locks_are_released() throws Exception {
        cluster.open();
        try (SeckillClient client = client()) {
            List<SeckillLock> locks =
                    IntStream.range(0, 12).mapToObj(i -> client.lock("lock" + i)).toList();
            locks.forEach(SeckillLock::lock);
            sellWhile(client, cluster::failOver);
            for (SeckillLock lock : locks) {
                try {
                    lock.unlock();
                } catch (SeckillException.LockLost told) {
                    // Its connection has ended with the old primary. Nothing else is thrown.
                }
            }
            try (SeckillClient other = client()) {
                for (SeckillLock lock : locks) {
                    assertThat(other.lock(lock.key()).tryLock(60, TimeUnit.SECONDS)).isTrue();
                    other.lock(lock.key()).unlock();
                }
            }
        }
    }

    /** Each server has places of its own for those who open a connection to it. */
    @Test
    void locks_of_a_frozen_primary_keep_those_of_another_one_from_nothing() throws Exception {
        cluster.open();
        try (SeckillClient client = client()) {
            client.create(keyOn(2, "v"), 1, SaleRules.none());
            cluster.server(0).freeze();
            cluster.server(3).freeze(); // No failover helps.
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 60; i++) {
                String key = keyOn(0, "lock:" + i + ":");
                Shop.on(() -> client.lock(key).tryLock(1, TimeUnit.HOURS), threads);
            }
            await().until(() -> threads.stream()
                    .allMatch(one -> one.getState().name().endsWith("WAITING")));
            SeckillLock free = client.lock(keyOn(2, "lock:free"));
            assertThat(free.tryLock()).isTrue();
            free.unlock();
            threads.forEach(Thread::interrupt);
            cluster.server(0).thaw();
            cluster.server(3).thaw();
        }
    }

    private String keyOn(int primary, String prefix) {
        return IntStream.range(0, 1_000).mapToObj(i -> prefix + i)
                .filter(key -> cluster.primaryOf(key) == primary).findFirst().orElseThrow();
    }

    /** By the starter: the streams of all tags are read, and the health looks at every primary. */
    @Test
    void a_node_without_the_module_is_named_and_all_tags_are_read() throws Exception {
        cluster.open(1);
        List<String> shards = IntStream.range(0, 16).mapToObj(i -> "phone#" + i).toList();
        try (var context = Application.run(
                Application.class, null, cluster.property(),
                "seckill.listener.tags=" + String.join(",", shards))) {
            assertThat(Application.health(context))
                    .startsWith("DOWN").contains(cluster.server(0).port() + "=module loaded")
                    .contains(cluster.server(1).port() + "=the server lacks the seckill module");
            cluster.loadModule(1);
            assertThat(Application.health(context))
                    .startsWith("UP").matches(".*module loaded.*module loaded.*module loaded.*");
            SeckillClient seckill = context.getBean(SeckillClient.class);
            shards.forEach(voucher -> seckill.create(voucher, 50, SaleRules.none()));
            Set<OrderRef> sold = new HashSet<>();
            for (int i = 0; i < 50; i++) {
                String user = "user" + i;
                String voucher = "phone#" + SlotHash.getSlot(user) % 16;
                assertThat(seckill.tryBuy(voucher, user, "o" + i).outcome()).isEqualTo(Outcome.ACCEPTED);
                long sale = seckill.info(voucher).sale();
                sold.add(OrderRef.of(voucher, user, "o" + i).inSale(sale));
            }
            assertThat(shards.stream().map(cluster::primaryOf).distinct()).hasSize(3);
            var rows = context.getBean(Application.class).rows;
            await().untilAsserted(() -> assertThat(rows.values()).extracting(OrderEvent::order)
                    .containsExactlyInAnyOrderElementsOf(sold));
        }
    }
}
