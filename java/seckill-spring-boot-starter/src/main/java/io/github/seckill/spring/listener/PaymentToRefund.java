package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import org.jspecify.annotations.Nullable;

/**
 * A payment that has bought nothing: refund it, or find out what it was for. It comes once for each
 * reference, and perhaps again after the server has lost its last writes, under the same key. One
 * that is unknown comes a second time, under another key, if it turns out to be late or second.
 *
 * @param order the order that was to be paid, which may not exist
 * @param units how many units that order has, or had; 1 if it does not exist
 * @param paid for how many units the payment is, if the confirmation said so
 * @param paymentRef the reference of the payment
 * @param reason why it has bought nothing
 */
public record PaymentToRefund(
        OrderRef order, long units, @Nullable Long paid, String paymentRef, Reason reason,
        StreamEntry entry)
        implements OrderEvent {
    /** For how many units it is to be refunded; if {@link Reason#UNKNOWN}, once that is decided. */
    public long unitsToRefund() {
        return paid == null ? units : paid;
    }

    /** Why a payment has bought nothing. */
    public enum Reason {
        /** The order was released before: refund the payment. */
        LATE,
        /**
         * The order was sold and released without a reference, and this is its first payment. Its
         * release has announced no refund: refund it.
         */
        RELEASED,
        /** The order was sold by another payment: refund this one. */
        SECOND,
        /**
         * The user has no such order: a person decides, and says so by {@link
         * io.github.seckill.client.Commands#recordRefund} before it is refunded.
         */
        UNKNOWN
    }
}
