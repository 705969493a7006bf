package io.github.seckill.client;

/** What became of a cancellation. */
public enum Cancellation {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The units, or all but those kept, are back in the stock; or the order has left the line. */
    RELEASED,
    /** They were released before, or the order has no more than those to be kept. */
    ALREADY_RELEASED,
    /** The order is not in the state that {@link Commands#cancelIf} names: nothing changed. */
    OTHER_STATE
}
