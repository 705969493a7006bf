package io.github.seckill.samples.shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServiceConnection;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.*;
import org.springframework.boot.test.context.SpringBootTest.WebEnvironment;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.data.domain.Range;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.http.HttpMethod;
import org.springframework.jdbc.core.RowCallbackHandler;
import org.springframework.jdbc.core.simple.JdbcClient;

/** 5,000 buyers by HTTP, and then every row against what the module has on its books. */
@SpringBootTest(webEnvironment = WebEnvironment.RANDOM_PORT, properties = {
    "seckill.listener.concurrency=4", "seckill.command-timeout=20s" // for busy machines
})
@SeckillServiceConnection
class BuyersTest {
    private static final int BUYERS = 5_000;
    private static final int AT_ONCE = 64;
    private static final int STOCK = 1_000;
    private static final Duration QUIET = Duration.ofSeconds(60);

    @Autowired private SeckillClient seckill;
    @Autowired private JdbcClient database;
    @Autowired private StringRedisTemplate redis;

    @Value("${local.server.port}")
    private int port;

    @Test
    void everyRowIsWhatTheModuleHasOnItsBooks() throws Exception {
        Buyer.Http http = new Buyer.Http(port);
        assertThat(http.put("/sales/phone", "{\"stock\":" + STOCK + ",\"holdSeconds\":4}", "shop"))
                .isEqualTo(201);
        List<Buyer> buyers = run(http, "first", BUYERS);
        assertThat(buyers.stream().filter(Buyer::accepted).count()).isGreaterThanOrEqualTo(STOCK);

        // Who has not paid has lost the units, by the deadline alone.
        await().atMost(QUIET).until(() -> phones().held() == 0);
        for (Buyer buyer : buyers) {
            if (buyer.isLate()) {
                assertThat(buyer.pay()).as(buyer.orderId()).isEqualTo(409);
            }
        }
        buyers.addAll(run(http, "second", 1_000));
        // What was released was on sale again.
        assertThat(buyers.stream().filter(Buyer::accepted).count()).isGreaterThan(STOCK);
        await().atMost(QUIET).until(() -> phones().held() == 0);

        prove(buyers, seckill.audit("phone"));
        aBuyerWaitsInTheQueue(http);
    }

    private static void aBuyerWaitsInTheQueue(Buyer.Http http) {
        String last = "/sales/last";
        assertThat(http.put(last, "{\"stock\":1,\"holdSeconds\":600}", "shop")).isEqualTo(201);
        assertThat(http.put(last + "/orders/1?wait=true", "", "ann")).isEqualTo(200);
        assertThat(http.put(last + "/orders/2", "", "ben")).isEqualTo(409);
        assertThat(http.put(last + "/orders/2?wait=true", "", "ben")).isEqualTo(202);
        assertThat(http.send(HttpMethod.DELETE, last + "/orders/1", "", "ann")).isEqualTo(204);
        assertThat(http.put(last + "/orders/2?wait=true", "", "ben")).isEqualTo(200);
    }

    private int pending(String stream) {
        return redis.opsForStream().pending(stream, "shop", Range.unbounded(), 1).size();
    }

    private SaleInfo phones() {
        return seckill.info("phone");
    }

    private List<Buyer> run(Buyer.Http http, String wave, int count) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(AT_ONCE);
        try {
            List<Buyer> buyers = new ArrayList<>();
            long sale = phones().sale();
            for (int i = 0; i < count; i++) {
                buyers.add(new Buyer(http, sale, wave + "-" + i, Buyer.Manner.of(i)));
            }
            for (Future<Buyer> bought : pool.invokeAll(buyers)) {
                bought.get();
            }
            return buyers;
        } finally {
            pool.shutdownNow();
        }
    }

    private void prove(List<Buyer> buyers, SaleAudit audit) {
        assertThat(audit.differences()).isEmpty();
        assertThat(audit.isSound()).isTrue();
        assertThat(audit.total()).isEqualTo(STOCK);
        assertThat(audit.left() + audit.held() + audit.sold()).isEqualTo(STOCK);

        awaitRows(buyers.stream().filter(Buyer::accepted)
                .collect(Collectors.toMap(Buyer::orderId, Buyer::state)));
        assertThat(units("sold")).isEqualTo(audit.sold());
        assertThat(units("held")).isZero().isEqualTo(audit.held());
        assertThat(database.sql("SELECT COUNT(*) FROM orders").query(Long.class).single())
                .isEqualTo(audit.orders());
        assertThat(texts("SELECT user_id FROM orders WHERE state = 'sold' GROUP BY user_id"
                + " HAVING COUNT(*) > 1")).as("users with two sold orders").isEmpty();
        assertThat(texts("SELECT order_id FROM orders WHERE state = 'sold'"
                + " AND (payment IS NULL OR payment <> CONCAT('payment-', order_id))"))
                .as("orders with other payments").isEmpty();
        List<String> refunds = buyers.stream().flatMap(buyer -> buyer.refund().stream()).toList();
        assertThat(refunds).anyMatch(refund -> refund.endsWith(" late"))
                .anyMatch(refund -> refund.endsWith(" duplicate"))
                .anyMatch(refund -> refund.endsWith(" cancelled"));
        await().atMost(QUIET).untilAsserted(() ->
                assertThat(texts("SELECT CONCAT(payment, ' ', reason) FROM refunds"))
                        .containsExactlyInAnyOrderElementsOf(refunds));
        for (String stream : List.of("", ".confirmed", ".released")) {
            await().atMost(QUIET).until(() -> pending("stream.orders" + stream) == 0);
        }
        assertThat(redis.hasKey("stream.orders.dlq")).isFalse();
    }

    /**
     * The listener is behind by what is in the streams, and by no more: on a slow disk by minutes,
     * as long as it goes on.
     */
    private void awaitRows(Map<String, String> expected) {
        Set<String> behind = expected.keySet();
        while (!behind.isEmpty()) {
            Set<String> before = behind;
            behind = await("other rows than of " + before).atMost(QUIET)
                    .until(() -> missing(expected), now -> now.size() < before.size());
        }
        assertThat(rows()).containsOnlyKeys(expected.keySet());
    }

    /** The orders whose rows are not as they must be. */
    private Set<String> missing(Map<String, String> expected) {
        Map<String, String> rows = rows();
        Set<String> missing = new HashSet<>(expected.keySet());
        missing.removeIf(order -> rows.getOrDefault(order, "").matches(expected.get(order)));
        return missing;
    }

    private Map<String, String> rows() {
        Map<String, String> rows = new HashMap<>();
        RowCallbackHandler keep = row -> rows.put(row.getString(1), row.getString(2));
        database.sql("SELECT order_id, state FROM orders").query(keep);
        return rows;
    }

    private List<String> texts(String sql) {
        return database.sql(sql).query(String.class).list();
    }

    private long units(String state) {
        return database.sql("SELECT COALESCE(SUM(units), 0) FROM orders WHERE state = ?")
                .param(state).query(Long.class).single();
    }
}
