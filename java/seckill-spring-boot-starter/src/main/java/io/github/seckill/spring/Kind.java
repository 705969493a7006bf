package io.github.seckill.spring;

import io.github.seckill.spring.OrderEvent.*;
import java.util.Arrays;
import java.util.List;

/** What an entry tells. The stream of confirmed orders also has the payments to refund. */
enum Kind {
    PLACED("", OrderPlaced.class),
    CONFIRMED(".confirmed", OrderConfirmed.class),
    REFUND(".confirmed", PaymentToRefund.class),
    RELEASED(".released", OrderReleased.class);

    private final String suffix;
    private final Class<? extends OrderEvent> type;

    Kind(String suffix, Class<? extends OrderEvent> type) {
        this.suffix = suffix;
        this.type = type;
    }

    static Kind of(OrderEvent event) {
        return takenBy(event.getClass()).get(0);
    }

    /** The kinds that a parameter of this type takes. */
    static List<Kind> takenBy(Class<?> parameter) {
        return Arrays.stream(values())
                .filter(kind -> parameter.isAssignableFrom(kind.type))
                .filter(kind -> OrderEvent.class.isAssignableFrom(parameter)).toList();
    }

    /** Names the stream as the server does. */
    String stream(String orders, String tag) {
        return orders + suffix + (tag.isEmpty() ? "" : ":{" + tag + "}");
    }
}
