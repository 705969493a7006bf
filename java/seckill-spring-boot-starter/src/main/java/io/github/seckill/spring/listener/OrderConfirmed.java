package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import org.jspecify.annotations.Nullable;

/**
 * A held order was confirmed: it is sold.
 *
 * @param order the order
 * @param units how many units
 * @param paymentRef the reference of the payment, if the confirmation gave one
 * @param entry where this comes from
 */
public record OrderConfirmed(
        OrderRef order, long units, @Nullable String paymentRef, StreamEntry entry)
        implements OrderEvent {}
