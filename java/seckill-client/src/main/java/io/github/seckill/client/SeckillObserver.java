package io.github.seckill.client;

import java.time.Duration;

/**
 * Is told what a client does, for metrics. Called on threads that must not be kept, and must not
 * throw.
 */
public interface SeckillObserver {
    /** Nobody. */
    static SeckillObserver none() {
        return new SeckillObserver() {};
    }

    /** A try has an outcome, this long after the call. */
    default void tried(String voucher, Outcome outcome, Duration time) {}

    /** A try ended in a mistake. */
    default void failed(String voucher, SeckillException mistake) {}

    /** So many tries were sent together, 1 if it went alone. */
    default void sent(int size) {}

    /** A command was sent again. */
    default void repeated() {}
}
