package io.github.seckill.spring;

import java.lang.annotation.*;
import org.springframework.aot.hint.annotation.Reflective;

/**
 * The method is handed the orders of the streams. Its first parameter says which ones:
 *
 * <ul>
 *   <li>{@link OrderEvent.OrderPlaced}: new orders, held or sold
 *   <li>{@link OrderEvent.OrderConfirmed}: held orders that were paid
 *   <li>{@link OrderEvent.PaymentToRefund}: payments that have bought nothing
 *   <li>{@link OrderEvent.OrderReleased}: orders of which units are on sale again
 *   <li>{@link OrderEvent}: all of these
 * </ul>
 *
 * <p>A second parameter of type {@link String} is handed the {@link OrderEvent#idempotencyKey()}.
 *
 * <p>When the method returns the entry is acknowledged. When it throws the entry stays pending and
 * is handed over again, later and later. <b>Each entry comes at least once</b>, and again after a
 * crash, so a repetition must do nothing: insert a row by the key voucher, sale and order id only
 * if it is not there. The streams have no common order: a payment or a release may come before its
 * order, and at the same time to another consumer. So insert first, and update a row that is there.
 *
 * <p>No order is given up by itself. {@link OrderFailurePolicy} says otherwise, and even it can't
 * release what is sold.
 */
@Target(ElementType.METHOD)
@Retention(RetentionPolicy.RUNTIME)
@Documented
@Reflective // Native images keep the method.
public @interface SeckillOrderListener {
    /**
     * The consumer group. Every group gets every order, the consumers of one group share them. All
     * methods of an application with the same group must take different events. What none of them
     * takes is acknowledged.
     */
    String group() default "${seckill.listener.group:${spring.application.name:}}";

    /**
     * Threads of the group, for each hash tag. This and what follows is said by one method of a
     * group for all of them; else {@code seckill.listener.*} says it. Placeholders are resolved.
     */
    String concurrency() default "";

    /** Entries that are read at once. */
    String batch() default "";

    /** When entries that another consumer has left are taken over, such as {@code 90s}. */
    String claimAfter() default "";

    /** The bean of type {@link OrderFailurePolicy} that decides for the group. */
    String policy() default "";

    /** {@code false} if the group is read only after {@link OrderListenerContainer#start(String)}. */
    String autoStartup() default "";
}
