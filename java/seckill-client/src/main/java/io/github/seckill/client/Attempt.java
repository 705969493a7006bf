package io.github.seckill.client;

/**
 * One try of {@link Commands#tryAll(String, java.util.List)}: one unit for a user.
 *
 * @param orderId the id of the order that an accepted try makes; not {@code *}
 */
public record Attempt(String user, String orderId) {
    public Attempt {
        Args.text(user, "user");
        Args.orderId(orderId);
    }
}
