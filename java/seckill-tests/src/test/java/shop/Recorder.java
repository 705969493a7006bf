package shop;

import io.github.seckill.spring.*;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Predicate;

/** Remembers what it has handled and refuses what it is told to. */
public class Recorder {
    final List<OrderEvent> handled = new CopyOnWriteArrayList<>();
    final List<OrderEvent> refused = new CopyOnWriteArrayList<>();
    final List<String> keys = new CopyOnWriteArrayList<>();
    volatile Predicate<OrderEvent> refuses = event -> false;

    @SeckillOrderListener(group = ListenerShop.GROUP)
    void on(OrderEvent event, String idempotencyKey) {
        keys.add(idempotencyKey);
        if (refuses.test(event)) {
            refused.add(event);
            throw new IllegalStateException("row refused");
        }
        handled.add(event);
    }

    List<String> handledIds() {
        return handled.stream().map(event -> event.kind() + " " + event.order().orderId()).toList();
    }

    <E extends OrderEvent> List<E> handled(Class<E> type) {
        return handled.stream().filter(type::isInstance).map(type::cast).toList();
    }

    long refusedOrders() {
        return refused.stream().map(event -> event.order().orderId()).distinct().count();
    }

    long refusals(String orderId) {
        return refused.stream().filter(event -> event.order().orderId().equals(orderId)).count();
    }
}
