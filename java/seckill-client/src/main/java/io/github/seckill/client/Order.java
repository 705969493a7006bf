package io.github.seckill.client;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An order of a managed voucher.
 *
 * @param units how many units it has, or had
 * @param asked how many units its try asked for: more than it has after {@link
 *     Commands#cancelAllBut}
 * @param was what it was before it was released: {@link OrderState#HELD}, {@link
 *     OrderState#SOLD} or {@link OrderState#WAITING}; null if it is not released
 * @param deadline when it expires, if it is held
 * @param paymentRef the payment's reference, if it was confirmed with one
 * @param sale the id of the voucher's sale
 * @param position its place in line, where 1 is next, if it waits
 */
public record Order(
        String user, long units, long asked, OrderState state, @Nullable OrderState was,
        @Nullable Instant deadline, @Nullable String paymentRef, @Nullable Long sale,
        @Nullable Long position) {}
