package io.github.seckill.client;

import java.time.Instant;

/** What became of a try on a managed voucher, with the deadline until which it must be paid. */
public sealed interface Reservation {
    /**
     * The units are held for the user.
     *
     * @param deadline when they are released unless they are confirmed before
     * @param sale the id of the sale, which the payment names: {@link OrderRef#inSale}
     */
    record Held(String orderId, long units, Instant deadline, long sale) implements Reservation {}

    /**
     * All is sold, and the order waits in line. It becomes {@link Held} when units are released.
     *
     * @param position its place in line, where 1 is next
     */
    record Waiting(String orderId, long units, long position) implements Reservation {}

    /** The units are sold: the sale has no holds, or the order was confirmed already. */
    record Sold(String orderId, long units) implements Reservation {}

    /**
     * The units are not the user's.
     *
     * @param outcome why; never {@code ACCEPTED}, {@code WAITING} or {@code UNKNOWN}
     */
    record Refused(Outcome outcome) implements Reservation {}

    /** No answer came until the end of {@link SeckillOptions#retryFor}. Asking again is safe. */
    record Unknown() implements Reservation {}
}
