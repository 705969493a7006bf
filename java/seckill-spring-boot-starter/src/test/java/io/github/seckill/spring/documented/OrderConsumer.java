package io.github.seckill.spring.documented;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillLock;
import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.springframework.stereotype.Component;

/** Makes rows of the orders in the stream, one user at a time under a lock. */
@Component
class OrderConsumer {
    private static final String GROUP = "g1";

    private final SeckillClient seckill;

    /** The table of orders: voucher and user by order id. */
    final Map<Long, String> table = new ConcurrentSkipListMap<>();

    OrderConsumer(SeckillClient seckill) {
        this.seckill = seckill;
    }

    @SeckillOrderListener(group = GROUP)
    void makeOrder(OrderPlaced placed) {
        OrderRef order = placed.order();
        SeckillLock lock = seckill.lock("lock:order:" + order.user());
        if (!lock.tryLock()) {
            throw new IllegalStateException("the lock of this user is held");
        }
        try {
            table.put(
                    Long.valueOf(order.orderId()),
                    "voucher " + order.voucher() + ", user " + order.user());
        } finally {
            lock.unlock();
        }
    }
}
