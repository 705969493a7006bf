package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** What an entry of the streams says of an order. */
public sealed interface OrderEvent permits OrderPlaced, OrderConfirmed, OrderReleased {
    /** The order: voucher, user, order id, and the sale if the voucher is managed. */
    OrderRef order();

    /** How many units the order has. */
    long units();

    /** Where this comes from. */
    StreamEntry entry();

    /**
     * The same for every delivery of this event, and different for any other event: for a column
     * with a unique index, or an HTTP header. It consists of the kind, the sale, the voucher and
     * the order id. The user is not in it: an order id that another user has is a mistake, not a
     * repetition.
     */
    default String idempotencyKey() {
        OrderRef order = order();
        return String.join(
                ":", kind(), order.sale() == null ? "" : order.sale().toString(),
                escape(order.voucher()), escape(order.orderId()));
    }

    /** Without colons, which separate, and without spaces. */
    private static String escape(String id) {
        return URLEncoder.encode(id, StandardCharsets.UTF_8);
    }

    /** The kind of this event. */
    default String kind() {
        if (this instanceof OrderPlaced) {
            return "placed";
        }
        return this instanceof OrderConfirmed ? "confirmed" : "released";
    }
}
