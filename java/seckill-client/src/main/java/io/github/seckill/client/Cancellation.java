package io.github.seckill.client;

/** What became of a cancellation. */
public enum Cancellation {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The units, or all but those kept, are back in the stock; or the order has left the queue. */
    RELEASED,
    /** They were released before, or the order has no more than those to be kept. */
    ALREADY_RELEASED,
    /**
     * The order is not in the state that {@link Commands#cancelIf} names, or not paid by what {@link
     * Commands#cancelPaidBy} names: nothing changed.
     */
    OTHER_STATE;

    /** What else is said of units that are released. For managed vouchers. */
    public enum Release {
        /** They leave the sale, and nobody else gets them: a unit is broken, or never was there. */
        NORESTOCK,
        /**
         * They are refunded already, and nobody refunds them again. Only of a sold order that has a
         * payment's reference: any other is {@link Cancellation#OTHER_STATE}.
         */
        REFUNDED
    }
}
