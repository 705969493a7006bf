package io.github.seckill.spring;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

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
         * order keeps its units, and an operator decides on it.
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

    /**
     * An entry that a listener could not handle.
     *
     * @param event what it says, or null if it is not an order: a field is missing or malformed
     * @param cause what the listener threw
     * @param failures how often it has failed in this process
     * @param failingFor for how long it has been failing in this process
     */
    record OrderFailure(
            @Nullable OrderEvent event, OrderEvent.StreamEntry entry, Map<String, String> fields,
            Throwable cause, long failures, Duration failingFor) {
        /** Whether this is a new order that was held when it was placed. It may be sold by now. */
        public boolean isHeldOrder() {
            return event instanceof OrderEvent.OrderPlaced placed && placed.isHeld();
        }
    }

    Decision decide(OrderFailure failure);

    /** Never gives anything up. An operator does, by {@code SECKILL.REJECT}. */
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
}
