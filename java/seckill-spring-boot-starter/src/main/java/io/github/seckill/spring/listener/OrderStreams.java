package io.github.seckill.spring.listener;

import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The streams that belong together, of one hash tag or of none.
 *
 * @param names the name of each
 */
record OrderStreams(Map<Kind, String> names) {
    /** What a stream tells. */
    enum Kind {
        PLACED("", OrderPlaced.class),
        CONFIRMED(".confirmed", OrderConfirmed.class),
        RELEASED(".released", OrderReleased.class);

        private final String suffix;
        private final Class<? extends OrderEvent> type;

        Kind(String suffix, Class<? extends OrderEvent> type) {
            this.suffix = suffix;
            this.type = type;
        }

        /** The kinds that a parameter of this type takes. */
        static List<Kind> takenBy(Class<?> parameter) {
            return List.of(values()).stream()
                    .filter(kind -> parameter.isAssignableFrom(kind.type))
                    .filter(kind -> OrderEvent.class.isAssignableFrom(parameter))
                    .toList();
        }
    }

    /**
     * Names streams as the server does.
     *
     * @param orders the server's {@code seckill.order-stream}
     * @param tag a hash tag without braces, or empty for none
     */
    static OrderStreams named(String orders, String tag) {
        Map<Kind, String> names = new EnumMap<>(Kind.class);
        for (Kind kind : Kind.values()) {
            names.put(kind, orders + kind.suffix + (tag.isEmpty() ? "" : ":{" + tag + "}"));
        }
        return new OrderStreams(names);
    }

    String name(Kind kind) {
        String name = names.get(kind);
        if (name == null) {
            throw new IllegalStateException("no stream of " + kind);
        }
        return name;
    }
}
