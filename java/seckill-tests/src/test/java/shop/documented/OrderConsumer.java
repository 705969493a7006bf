package shop.documented;

import io.github.seckill.client.OrderRef;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.SeckillOrderListener;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import org.springframework.stereotype.Component;

/** Makes rows of the orders in the stream. */
@Component
class OrderConsumer {
    private static final String GROUP = "g1";

    /** The table of orders: voucher and user by order id. */
    final Map<Long, String> table = new ConcurrentSkipListMap<>();

    @SeckillOrderListener(group = GROUP)
    void makeOrder(OrderPlaced placed) {
        OrderRef order = placed.order();
        table.put(
                Long.valueOf(order.orderId()),
                "voucher " + order.voucher() + ", user " + order.user());
    }
}
