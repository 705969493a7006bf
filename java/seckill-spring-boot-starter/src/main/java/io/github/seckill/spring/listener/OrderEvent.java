package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** What an entry of the streams says of an order. */
public sealed interface OrderEvent
        permits OrderPlaced, OrderConfirmed, PaymentToRefund, OrderReleased {
    /** The order: voucher, user, order id, and the sale if the voucher is managed. */
    OrderRef order();

    /** How many units this is about. */
    long units();

    /** Where this comes from. */
    StreamEntry entry();

    /**
     * The same for every delivery of this event, and different for any other event: for a column
     * with a unique index, or an HTTP header. It consists of the kind, the sale, the voucher and
     * the order id; and, to tell several of an order apart, of the reference of a {@link
     * PaymentToRefund}, whether that is unknown, since it may become late or second, and then of
     * the units that it is for; and of the units kept at a release. The user is not in it: an order id that another user has is a
     * mistake, not a repetition.
     */
    default String idempotencyKey() {
        OrderRef order = order();
        String key = String.join(
                ":", kind(), order.sale() == null ? "" : order.sale().toString(),
                escape(order.voucher()), escape(order.orderId()));
        if (this instanceof PaymentToRefund payment) {
            String known = key + ":" + escape(payment.paymentRef());
            if (payment.reason() != PaymentToRefund.Reason.UNKNOWN) {
                return known;
            }
            return known + ":unknown" + (payment.paid() == null ? "" : ":" + payment.paid());
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
