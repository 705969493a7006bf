package io.github.seckill.spring.listener;

import java.time.Duration;

/**
 * Decides on an entry that a listener can't handle. A bean of this type is used by all listeners of
 * the application; without one, {@link #retryForever()}.
 *
 * <p>It is asked after a failure only if the same consumer has handled another entry of the same
 * stream since the failure before: while a database is down, or refuses everything, nothing is
 * given up.
 */
@FunctionalInterface
public interface OrderFailurePolicy {
    /** What becomes of the entry. */
    enum Decision {
        /** It stays pending and is handed over again, later and later. */
        RETRY,
        /**
         * It becomes a dead letter, as it is, and is acknowledged. <b>Nothing is released</b>: its
         * order keeps its units, and a person decides on it.
         */
        DEAD_LETTER,
        /**
         * If it is a new order of a managed voucher of which nothing is sold (still held, or
         * released already), it becomes a dead letter, its units are on sale again and its user may
         * buy again. Looking and rejecting are one step on the server, so a payment that comes
         * first keeps the order. Otherwise as {@link #RETRY}.
         */
        REJECT_IF_UNSOLD
    }

    Decision decide(OrderFailure failure);

    /** Never gives anything up. A person does, by {@code SECKILL.REJECT}. */
    static OrderFailurePolicy retryForever() {
        return failure -> Decision.RETRY;
    }

    /** Rejects held orders that have been failing for so long, and retries all else. */
    static OrderFailurePolicy rejectHeldAfter(Duration time) {
        return failure ->
                failure.isHeldOrder() && failure.failingFor().compareTo(time) >= 0
                        ? Decision.REJECT_IF_UNSOLD
                        : Decision.RETRY;
    }

    /** Makes dead letters, which release nothing, of entries that have been failing for so long. */
    static OrderFailurePolicy deadLetterAfter(Duration time) {
        return failure ->
                failure.failingFor().compareTo(time) >= 0 ? Decision.DEAD_LETTER : Decision.RETRY;
    }
}
