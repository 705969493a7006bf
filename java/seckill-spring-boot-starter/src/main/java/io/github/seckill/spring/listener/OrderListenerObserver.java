package io.github.seckill.spring.listener;

import java.time.Duration;

/** Is told what the listeners do, for metrics. Called on the listeners' threads. */
public interface OrderListenerObserver {
    /** Looks away. */
    OrderListenerObserver NONE = new OrderListenerObserver() {};

    /**
     * A listener has returned or thrown.
     *
     * @param entry what it was handed
     * @param kind {@code placed}, {@code confirmed}, {@code released} or {@code malformed}
     * @param handled whether it has returned
     * @param time how long it took
     */
    default void handled(StreamEntry entry, String kind, boolean handled, Duration time) {}

    /**
     * An entry became a dead letter.
     *
     * @param entry the entry
     * @param released whether its order was given to {@code SECKILL.REJECT}
     */
    default void deadLetter(StreamEntry entry, boolean released) {}

    /**
     * A listener fails at everything, so that no new entries are read, or it works again.
     *
     * @param group the consumer group
     * @param stopped whether reading has stopped
     */
    default void intake(String group, boolean stopped) {}
}
