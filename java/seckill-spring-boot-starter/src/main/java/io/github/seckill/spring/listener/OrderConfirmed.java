package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import org.jspecify.annotations.Nullable;

/**
 * An order was confirmed: it is sold. One that was sold without a reference comes a second time,
 * under the same key, if it is given its first reference.
 *
 * @param paid for how many units the payment is, if the confirmation said so
 * @param paymentRef the reference of the payment, if the confirmation gave one
 */
public record OrderConfirmed(
        OrderRef order, long units, @Nullable Long paid, @Nullable String paymentRef,
        StreamEntry entry)
        implements OrderEvent {
    /**
     * For how many units the payment is to be refunded: those that were released while the user
     * paid for them.
     */
    public long unitsToRefund() {
        return paid == null ? 0 : Math.max(0, paid - units);
    }
}
