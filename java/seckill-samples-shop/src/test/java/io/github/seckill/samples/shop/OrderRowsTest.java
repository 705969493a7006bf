package io.github.seckill.samples.shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.github.seckill.spring.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.test.SeckillServiceConnection;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.boot.test.context.SpringBootTest;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.Isolation;
import org.springframework.transaction.support.TransactionTemplate;

/** What two instances of the shop read at once of one order: each event by a thread of its own. */
@SpringBootTest(properties = {
    "seckill.listener.enabled=false", "spring.datasource.url=jdbc:h2:mem:rows;DB_CLOSE_DELAY=-1"
})
@SeckillServiceConnection
class OrderRowsTest {
    private static final int ORDERS = 1_000;
    private static final int DELIVERIES_MOST = 1_000;

    @Autowired private OrderRows rows;
    @Autowired private JdbcClient database;
    @Autowired private PlatformTransactionManager transactions;

    private record Row(String state, long units, String payment) {}

    @ParameterizedTest
    @EnumSource(names = {"READ_COMMITTED", "REPEATABLE_READ"})
    void noEventOfAnOrderIsLostBesideAnother(Isolation isolation) throws Exception {
        TransactionTemplate transaction = new TransactionTemplate(transactions);
        transaction.setIsolationLevel(isolation.value());
        ExecutorService instances = Executors.newFixedThreadPool(3);
        Map<String, Row> wrong = new TreeMap<>();
        try {
            for (int i = 0; i < ORDERS; i++) {
                OrderRef order = OrderRef.of("rows", "ann", isolation + "-" + i).inSale(1);
                CyclicBarrier atOnce = new CyclicBarrier(3);
                List<Callable<Void>> handled = new ArrayList<>();
                for (Runnable event : eventsOf(order)) {
                    handled.add(() -> {
                        atOnce.await();
                        handle(() -> transaction.executeWithoutResult(now -> event.run()));
                        return null;
                    });
                }
                for (Future<Void> done : instances.invokeAll(handled)) {
                    done.get();
                }
                Row row = database.sql(
                        "SELECT state, units, payment FROM orders WHERE order_id = ?")
                        .param(order.orderId()).query(Row.class).single();
                if (!row.equals(new Row("sold", 2, "p"))) {
                    wrong.put(order.orderId(), row);
                }
            }
        } finally {
            instances.shutdownNow();
        }
        assertThat(wrong).isEmpty();
    }

    @Test
    void whatFitsInTheOrdersFitsInTheRefunds() {
        String longest = "a".repeat(128);
        OrderRef order = OrderRef.of(longest, longest, longest).inSale((1L << 53) - 1);
        PaymentToRefund payment = new PaymentToRefund(
                order, 1, Long.MAX_VALUE, longest, PaymentToRefund.Reason.UNMATCHED,
                new StreamEntry("stream.orders.confirmed", "shop", "1-1", 1));
        rows.refund(payment, payment.idempotencyKey());
        rows.refund(payment, payment.idempotencyKey());
        assertThat(refundsOf(order)).containsExactly("unmatched " + Long.MAX_VALUE);
    }

    private List<String> refundsOf(OrderRef order) {
        String refunds = "SELECT CONCAT(reason, ' ', units) FROM refunds WHERE order_id = ?";
        return database.sql(refunds).param(order.orderId()).query(String.class).list();
    }

    /** Paid for three units, of which it has two; one of them is refunded by who released it. */
    @Test
    void whatIsPaidTooMuchIsRefundedOnce() {
        OrderRef order = OrderRef.of("rows", "bob", "overpaid").inSale(1);
        StreamEntry entry = new StreamEntry("stream.orders", "shop", "1-1", 1);
        OrderConfirmed paid = new OrderConfirmed(order, 2, 3L, "p", entry);
        OrderReleased released = new OrderReleased(
                order, 1, 1, Order.State.CANCELLED, Order.State.SOLD, "p", true, true, null, entry);
        for (int delivery = 1; delivery <= 2; delivery++) {
            rows.confirmed(paid, paid.idempotencyKey());
            rows.released(released, released.idempotencyKey());
        }
        assertThat(refundsOf(order)).containsExactly("overpaid 1");
    }

    /** Three units are held, one of them is released, and the others are paid. */
    private List<Runnable> eventsOf(OrderRef order) {
        StreamEntry entry = new StreamEntry("stream.orders", "shop", "1-1", 1);
        Instant deadline = Instant.now().plus(Duration.ofMinutes(15));
        return List.of(
                () -> rows.placed(new OrderPlaced(order, 3, deadline, null, entry)),
                () -> rows.released(
                        new OrderReleased(
                                order, 1, 2, Order.State.CANCELLED, Order.State.HELD, null,
                                false, false, null, entry),
                        "released"),
                () -> rows.confirmed(new OrderConfirmed(order, 2, null, "p", entry), "confirmed"));
    }

    /** As the listener does: what has failed, as in a deadlock, is handed over again. */
    private static void handle(Runnable event) {
        for (int delivery = 1;; delivery++) {
            try {
                event.run();
                return;
            } catch (DataAccessException failed) {
                if (delivery == DELIVERIES_MOST) {
                    throw failed;
                }
            }
        }
    }
}
