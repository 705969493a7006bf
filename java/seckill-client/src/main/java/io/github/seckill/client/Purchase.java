package io.github.seckill.client;

import java.time.Instant;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * What became of a purchase.
 *
 * @param orderId the id of the order if it was accepted or waits in the queue
 * @param order the order itself, if {@link Commands#reserve} has asked for it and the voucher is
 *     managed
 */
public record Purchase(Outcome outcome, @Nullable String orderId, @Nullable Order order) {
    private static final Purchase[] WITHOUT_ORDER = Stream.of(Outcome.values())
            .map(outcome -> new Purchase(outcome, null, null)).toArray(Purchase[]::new);

    static Purchase without(Outcome outcome) {
        return WITHOUT_ORDER[outcome.ordinal()];
    }

    static Purchase of(Outcome outcome, String orderId) {
        return outcome == Outcome.ACCEPTED || outcome == Outcome.WAITING
                ? new Purchase(outcome, orderId, null)
                : without(outcome);
    }

    /** What a reservation says: an order that was accepted once may be released by now. */
    static Purchase of(String orderId, @Nullable Order order) {
        Outcome now = order == null ? Outcome.ACCEPTED : switch (order.state()) {
            case HELD, SOLD -> Outcome.ACCEPTED;
            case WAITING -> Outcome.WAITING;
            default -> Outcome.RELEASED;
        };
        return new Purchase(now, orderId, order);
    }

    public boolean isAccepted() {
        return outcome == Outcome.ACCEPTED;
    }

    /** Until when a reservation must be paid; null if it is sold already. */
    public @Nullable Instant deadline() {
        return order == null ? null : order.deadline();
    }
}
