package io.github.seckill.client;

/** What became of a confirmation, and what a shop does: ship, refund, or look. */
public enum Confirmation {
    /**
     * There is no such order of this user, or not in this sale, or it waits in the queue: find out
     * what was paid for.
     */
    NO_ORDER,
    /** The order was held and is sold now. */
    CONFIRMED,
    /** The order was sold before, by this payment or without a reference: nothing to do. */
    ALREADY_SOLD,
    /** The units were released before: refund this payment. */
    TOO_LATE,
    /**
     * This payment was accepted and the order was released since. The entry of its release, which
     * has the reference, has announced the refund: a second one is not due.
     */
    RELEASED_SINCE,
    /** The order was sold by another payment: refund this one. */
    DUPLICATE_PAYMENT;

    /** The goods are the user's: hand them over. */
    public boolean ship() {
        return this == CONFIRMED || this == ALREADY_SOLD;
    }

    /** This payment has bought nothing: return all of it, once. */
    public boolean refund() {
        return this == TOO_LATE || this == DUPLICATE_PAYMENT;
    }

    /**
     * Neither yet: {@link #NO_ORDER} may become an order when its try is repeated, and the refund
     * of {@link #RELEASED_SINCE} is announced by the release.
     */
    public boolean look() {
        return this == NO_ORDER || this == RELEASED_SINCE;
    }
}
