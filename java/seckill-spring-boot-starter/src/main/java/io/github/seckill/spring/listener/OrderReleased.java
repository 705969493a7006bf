package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.OrderState;
import org.jspecify.annotations.Nullable;

/**
 * Units of an order are released: on sale again, unless they have left the sale.
 *
 * @param units how many of its units were released
 * @param kept how many the order keeps, in the state that it was in; 0 if all are released
 * @param reason {@link OrderState#CANCELLED}, {@link OrderState#EXPIRED} or {@link
 *     OrderState#REJECTED}
 * @param was whether it was held or sold before; null for an unmanaged voucher, where nobody knows
 * @param paymentRef the payment of the order, if it was paid with a reference: {@link
 *     #unitsToRefund} says for how many units it is to be refunded
 * @param norestock whether the units have left the sale, and are in no stock
 * @param refunded whether who released them has refunded them already
 * @param rejectedEntryId the entry of the order that was rejected, if it was
 */
public record OrderReleased(
        OrderRef order, long units, long kept, OrderState reason, @Nullable OrderState was,
        @Nullable String paymentRef, boolean norestock, boolean refunded,
        @Nullable String rejectedEntryId, StreamEntry entry)
        implements OrderEvent {
    /** For how many units the payment is to be refunded: 0 if not paid, or refunded already. */
    public long unitsToRefund() {
        return paymentRef == null || refunded ? 0 : units;
    }
}
