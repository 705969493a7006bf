package io.github.seckill.samples.shop;

import io.github.seckill.client.OrderRef;
import io.github.seckill.spring.listener.OrderConfirmed;
import io.github.seckill.spring.listener.OrderEvent;
import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.OrderReleased;
import io.github.seckill.spring.listener.SeckillOrderListener;
import java.util.Locale;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.stereotype.Component;
import org.springframework.transaction.annotation.Transactional;

/**
 * Makes rows of orders. Events come at least once and in any order, so a row is inserted only if it
 * is not there, and what was released stays so.
 */
@Component
public class OrderRows {
    private static final String KEY = "voucher = :voucher AND sale = :sale AND order_id = :id";

    private final JdbcClient database;

    OrderRows(JdbcClient database) {
        this.database = database;
    }

    /** A new order. */
    @SeckillOrderListener
    @Transactional
    public void placed(OrderPlaced placed) {
        insertIfAbsent(placed, placed.isHeld() ? "held" : "sold", null);
    }

    /** A payment. */
    @SeckillOrderListener
    @Transactional
    public void confirmed(OrderConfirmed paid) {
        String set = "UPDATE orders SET state = 'sold', payment = :payment WHERE ";
        int changed = of(paid, set + KEY + " AND user_id = :user AND state = 'held'")
                .param("payment", paid.paymentRef()).update();
        if (changed == 0) {
            insertIfAbsent(paid, "sold", paid.paymentRef());
        }
    }

    /** Units that are on sale again. */
    @SeckillOrderListener
    @Transactional
    public void released(OrderReleased released) {
        String state = released.reason().name().toLowerCase(Locale.ROOT);
        String set = "UPDATE orders SET state = :state WHERE ";
        int changed =
                of(released, set + KEY + " AND user_id = :user").param("state", state).update();
        if (changed == 0) {
            insertIfAbsent(released, state, null);
        }
    }

    private void insertIfAbsent(OrderEvent event, String state, @Nullable String payment) {
        OrderRef order = event.order();
        var known =
                of(event, "SELECT user_id FROM orders WHERE " + KEY).query(String.class).optional();
        if (known.isEmpty()) {
            of(
                            event,
                            """
                            INSERT INTO orders
                                (voucher, sale, order_id, user_id, units, state, payment)
                            VALUES (:voucher, :sale, :id, :user, :units, :state, :payment)
                            """)
                    .param("units", event.units()).param("state", state).param("payment", payment)
                    .update();
        } else if (!known.get().equals(order.user())) {
            // No repetition but a mistake: the entry stays pending until a person has looked at it.
            throw new IllegalStateException("the order id is another user's");
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
