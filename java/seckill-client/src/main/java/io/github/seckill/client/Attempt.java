package io.github.seckill.client;

import java.util.Objects;

/**
 * One try of {@link SeckillClient#tryAll}: one unit for a user.
 *
 * @param user who buys
 * @param orderId the id of the order that an accepted try makes; not {@code *}
 */
public record Attempt(String user, String orderId) {
    /**
     * Refuses null and an order id that the server would make.
     *
     * @param user as above
     * @param orderId as above
     */
    public Attempt {
        Objects.requireNonNull(user, "user");
        Args.orderId(orderId);
    }
}
