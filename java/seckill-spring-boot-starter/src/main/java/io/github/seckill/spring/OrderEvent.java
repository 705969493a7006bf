package io.github.seckill.spring;

import io.github.seckill.client.Order;
import io.github.seckill.client.OrderRef;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** What an entry of the streams says of an order. */
public sealed interface OrderEvent {
    /** The order: voucher, user, order id, and the sale if the voucher is managed. */
    OrderRef order();

    /** How many units this is about. */
    long units();

    /** Where this comes from. */
    StreamEntry entry();

    /**
     * An entry of a stream, as a consumer group was handed it.
     *
     * @param deliveries how often it was delivered, this time included. Crashes count, too
     */
    record StreamEntry(String stream, String group, String id, long deliveries) {}

    /**
     * A new order.
     *
     * @param deadline when it is released unless it is confirmed before; null if it is sold already
     * @param waited how long it waited in the queue; null if it did not
     */
    record OrderPlaced(
            OrderRef order, long units, @Nullable Instant deadline, @Nullable Duration waited,
            StreamEntry entry)
            implements OrderEvent {
        /** Whether the order waits to be paid. */
        public boolean isHeld() {
            return deadline != null;
        }
    }

    /**
     * An order was confirmed: it is sold. One that was sold without a reference comes a second
     * time, under the same key, if it is given its first reference.
     *
     * @param paid for how many units the payment is, if the confirmation said so
     * @param paymentRef the reference of the payment, if the confirmation gave one
     */
    record OrderConfirmed(
            OrderRef order, long units, @Nullable Long paid, @Nullable String paymentRef,
            StreamEntry entry)
            implements OrderEvent {
        /** For how many units it is to be refunded: those released while the user paid for them. */
        public long unitsToRefund() {
            return paid == null ? 0 : Math.max(0, paid - units);
        }
    }

    /**
     * A payment that has bought nothing: refund it, or find out what it was for. It comes once for
     * each reference, and perhaps again after the server has lost its last writes, under the same
     * key. An unmatched one comes again, under another key, if it turns out to be late or a
     * duplicate.
     *
     * @param order the order that was to be paid, which may not exist
     * @param units how many units that order has, or had; 1 if it does not exist
     * @param paid for how many units the payment is, if the confirmation said so
     */
    record PaymentToRefund(
            OrderRef order, long units, @Nullable Long paid, String paymentRef, Reason reason,
            StreamEntry entry)
            implements OrderEvent {
        /** Why a payment has bought nothing. */
        public enum Reason {
            /** The order was released before: refund the payment. */
            LATE,
            /**
             * The order was sold and released without a reference, and this is its first payment.
             * Its release has announced no refund: refund it.
             */
            RELEASED,
            /** The order was sold by another payment: refund this one. */
            DUPLICATE,
            /**
             * The user has no such order: an operator decides, and says so by {@link
             * io.github.seckill.client.Commands#recordRefund} before it is refunded.
             */
            UNMATCHED
        }

        /** For how many units it is to be refunded; if unmatched, once that is decided. */
        public long unitsToRefund() {
            return paid == null ? units : paid;
        }
    }

    /**
     * Units of an order are released: on sale again, unless they have left the sale.
     *
     * @param units how many of its units were released
     * @param kept how many the order keeps, in the state that it was in; 0 if all are released
     * @param reason whether it was cancelled, expired or rejected
     * @param was whether it was held or sold; null for an unmanaged voucher, where nobody knows
     * @param paymentRef the payment of the order, if it was paid with a reference
     * @param norestock whether the units have left the sale, and are in no stock
     * @param refunded whether who released them has refunded them already
     * @param rejectedEntryId the entry of the order that was rejected, if it was
     */
    record OrderReleased(
            OrderRef order, long units, long kept, Order.State reason, Order.@Nullable State was,
            @Nullable String paymentRef, boolean norestock, boolean refunded,
            @Nullable String rejectedEntryId, StreamEntry entry)
            implements OrderEvent {
        /** For how many units the payment is to be refunded: 0 if unpaid, or refunded already. */
        public long unitsToRefund() {
            return paymentRef == null || refunded ? 0 : units;
        }
    }

    /**
     * The same for every delivery of this event, and different for any other event: for a column
     * with a unique index, or an HTTP header. It consists of the kind, the sale, the voucher and
     * the order id; and, to tell several of an order apart, of the reference of a {@link
     * PaymentToRefund}, whether that is unmatched, and then of the units that it is for; and of the
     * units kept at a release. The user is not in it: an order id that another user has is a
     * mistake, not a repetition.
     */
    default String idempotencyKey() {
        OrderRef order = order();
        String key = String.join(
                ":", kind(), order.sale() == null ? "" : order.sale().toString(),
                escape(order.voucher()), escape(order.orderId()));
        if (this instanceof PaymentToRefund payment) {
            String known = key + ":" + escape(payment.paymentRef());
            if (payment.reason() != PaymentToRefund.Reason.UNMATCHED) {
                return known;
            }
            return known + ":unmatched" + (payment.paid() == null ? "" : ":" + payment.paid());
        }
        return this instanceof OrderReleased released && released.kept() > 0
                ? key + ":" + released.kept()
                : key;
    }

    /** Without colons, which separate, and without spaces. */
    private static String escape(String id) {
        return URLEncoder.encode(id, StandardCharsets.UTF_8);
    }

    /** The kind of this event: placed, confirmed, refund or released. */
    default String kind() {
        return Kind.of(this).name().toLowerCase(Locale.ROOT);
    }
}
