package io.github.seckill.spring.listener;

import java.time.Duration;

/** Is told what the listeners do, for metrics. Called on the listeners' threads. */
public interface OrderListenerObserver {
    /** Looks away. */
    OrderListenerObserver NONE = new OrderListenerObserver() {};

    /** A listener has returned or thrown; of the kind {@code malformed} none was called. */
    default void handled(StreamEntry entry, String kind, boolean handled, Duration time) {}

    /** An entry became a dead letter, and was released if its order was rejected. */
    default void deadLetter(StreamEntry entry, boolean released) {}

    /** So many consumers of a group read entries now, of so many that shall. */
    default void consumers(String group, int reading, int all) {}

    /** A listener fails at everything, so that no new entries are read, or it works again. */
    default void intake(String group, boolean stopped) {}
}
