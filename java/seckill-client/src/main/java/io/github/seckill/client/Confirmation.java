package io.github.seckill.client;

/** What became of a confirmation. Every one of these is final. */
public enum Confirmation {
    /**
     * There is no such order of this user, or not in this sale, or it waits in line: find out what
     * was paid for.
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
     * has the reference, has announced the refund: nothing to do here.
     */
    RELEASED_SINCE,
    /** The order was sold by another payment: refund this one. */
    SECOND_PAYMENT
}
