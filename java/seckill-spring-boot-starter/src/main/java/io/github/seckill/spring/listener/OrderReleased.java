package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.OrderState;
import org.jspecify.annotations.Nullable;

/**
 * Units of an order are on sale again.
 *
 * @param units how many of its units were released
 * @param kept how many the order keeps, in the state that it was in; 0 if all are released
 * @param reason {@link OrderState#CANCELLED}, {@link OrderState#EXPIRED} or {@link
 *     OrderState#REJECTED}
 * @param was whether it was held or sold before; null for an unmanaged voucher, where nobody knows
 * @param paymentRef the payment to be refunded for the units released, if the order was paid with a
 *     reference
 */
public record OrderReleased(
        OrderRef order, long units, long kept, OrderState reason, @Nullable OrderState was,
        @Nullable String paymentRef, StreamEntry entry)
        implements OrderEvent {}
