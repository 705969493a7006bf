package io.github.seckill.client;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a user has of a voucher. All is null for a buyer of an unmanaged voucher, of whom nothing
 * but the fact is on record.
 *
 * @param units how many units the user has, held, sold and waited for, over all orders
 * @param orderId the order accepted last
 * @param state where that order stands
 * @param deadline when that order expires, if it is held
 * @param waiting how many of the units the user waits for in the queue
 */
public record BuyerStatus(
        @Nullable Long units, @Nullable String orderId, Order.@Nullable State state,
        @Nullable Instant deadline, @Nullable Long waiting) {}
