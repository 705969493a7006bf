package io.github.seckill.samples.shop;

import io.github.seckill.client.*;
import io.github.seckill.spring.*;
import io.github.seckill.spring.OrderEvent.*;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.dao.DuplicateKeyException;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Makes rows of orders. Events come at least once, in any order, and to two instances at the same
 * time. So each is inserted first, and changes the row only if that is there already; and what was
 * released stays so. What is to be refunded is in a table of its own.
 */
@Component
public class OrderRows {
    private static final String KEY = "voucher = :voucher AND sale = :sale AND order_id = :id";
    private static final String INSERT = """
            INSERT INTO orders (voucher, sale, order_id, user_id, units, state, payment)
            VALUES (:voucher, :sale, :id, :user, :units, :state, :payment)
            """;

    private final JdbcClient database;

    OrderRows(JdbcClient database) {
        this.database = database;
    }

    /** A new order. */
    @SeckillOrderListener
    @Transactional
    public void placed(OrderPlaced placed) {
        insert(placed, placed.isHeld() ? "held" : "sold", placed.units(), null);
    }

    /** A payment. An order that was sold without a reference may get its first one later. */
    @SeckillOrderListener
    @Transactional
    public void confirmed(OrderConfirmed paid, String key) {
        if (!insert(paid, "sold", paid.units(), paid.paymentRef())) {
            String set = "UPDATE orders SET state = 'sold', payment = :payment WHERE ";
            String unpaid = " AND (state = 'held' OR state = 'sold' AND payment IS NULL)";
            of(paid, set + KEY + unpaid).param("payment", paid.paymentRef()).update();
        }
        if (paid.unitsToRefund() > 0) {
            refundOnce(key, paid, paid.paymentRef(), paid.unitsToRefund(), "overpaid");
        }
    }

    /** A payment that has bought nothing. */
    @SeckillOrderListener
    @Transactional
    public void refund(PaymentToRefund payment, String key) {
        refundOnce(
                key, payment, payment.paymentRef(), payment.unitsToRefund(),
                word(payment.reason()));
    }

    /** Units that were released: all of the order, or some, and the refund if one is due. */
    @SeckillOrderListener
    @Transactional
    public void released(OrderReleased released, String key) {
        long kept = released.kept();
        Order.State now = kept == 0 ? released.reason() : released.was();
        if (!insert(released, word(now), kept == 0 ? released.units() : kept, null)) {
            String set = kept == 0 ? "state = :state" : "units = LEAST(units, :kept)";
            of(released, "UPDATE orders SET " + set + " WHERE " + KEY)
                    .param("state", word(now)).param("kept", kept).update();
        }
        if (released.unitsToRefund() > 0) {
            refundOnce(
                    key, released, released.paymentRef(), released.unitsToRefund(),
                    word(released.reason()));
        }
    }

    private void refundOnce(
            String key, OrderEvent event, @Nullable String payment, long units, String reason) {
        isNew(database.sql("INSERT INTO refunds VALUES (?, ?, ?, ?, ?)")
                .params(key, payment, event.order().orderId(), units, reason));
    }

    private static String word(@Nullable Enum<?> value) {
        return String.valueOf(value).toLowerCase(Locale.ROOT);
    }

    /** Inserts the row; false if it is there already. */
    private boolean insert(
            OrderEvent event, String state, long units, @Nullable String payment) {
        if (isNew(of(event, INSERT).param("units", units).param("state", state)
                .param("payment", payment))) {
            return true;
        }
        String user =
                of(event, "SELECT user_id FROM orders WHERE " + KEY).query(String.class).single();
        if (!user.equals(event.order().user())) {
            // No repetition but a mistake: the entry stays pending until an operator has looked at
            // it.
            throw new IllegalStateException("the order id is another user's");
        }
        return false;
    }

    /**
     * Only the insert can tell: what a look or an update does not find, another instance may insert
     * before this one does. For PostgreSQL, whose transaction an error ends, it needs ON CONFLICT
     * DO NOTHING.
     */
    private static boolean isNew(JdbcClient.StatementSpec insert) {
        try {
            insert.update();
            return true;
        } catch (DuplicateKeyException known) {
            return false;
        }
    }

    private JdbcClient.StatementSpec of(OrderEvent event, String sql) {
        OrderRef order = event.order();
        Long sale = order.sale();
        return database.sql(sql)
                .param("voucher", order.voucher()).param("sale", sale == null ? 0 : sale)
                .param("id", order.orderId()).param("user", order.user());
    }
}
