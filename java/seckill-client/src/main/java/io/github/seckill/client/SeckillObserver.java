package io.github.seckill.client;

import java.time.Duration;

/**
 * Is told what a client does, for metrics. Called on threads that must not be kept, and must not
 * throw.
 */
public interface SeckillObserver {
    /**
     * Nobody.
     *
     * @return an observer that does nothing
     */
    static SeckillObserver none() {
        return new SeckillObserver() {};
    }

    /**
     * A try has an outcome.
     *
     * @param voucher what was tried
     * @param outcome what became of it
     * @param time from the call to the outcome
     */
    default void tried(String voucher, Outcome outcome, Duration time) {}

    /**
     * A try ended in a mistake.
     *
     * @param voucher what was tried
     * @param mistake the mistake
     */
    default void failed(String voucher, SeckillException mistake) {}

    /**
     * Tries were sent together.
     *
     * @param size how many, 1 if it went alone
     */
    default void sent(int size) {}

    /** A try was answered sold out without the network. */
    default void rememberedSoldOut() {}

    /** A command was sent again. */
    default void repeated() {}
}
