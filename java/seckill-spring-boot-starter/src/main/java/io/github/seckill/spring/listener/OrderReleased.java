package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.OrderState;
import org.jspecify.annotations.Nullable;

/**
 * An order's units are on sale again.
 *
 * @param order the order
 * @param units how many units
 * @param reason {@link OrderState#CANCELLED}, {@link OrderState#EXPIRED} or {@link
 *     OrderState#REJECTED}
 * @param was whether it was held or sold before; null for an unmanaged voucher, where nobody knows
 * @param entry where this comes from
 */
public record OrderReleased(
        OrderRef order,
        long units,
        OrderState reason,
        @Nullable OrderState was,
        StreamEntry entry)
        implements OrderEvent {}
