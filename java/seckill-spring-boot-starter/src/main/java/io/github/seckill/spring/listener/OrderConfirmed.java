package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import org.jspecify.annotations.Nullable;

/**
 * An order was confirmed: it is sold. One that was sold without a reference comes a second time,
 * under the same key, if it is given its first reference.
 *
 * @param paymentRef the reference of the payment, if the confirmation gave one
 */
public record OrderConfirmed(
        OrderRef order, long units, @Nullable String paymentRef, StreamEntry entry)
        implements OrderEvent {}
