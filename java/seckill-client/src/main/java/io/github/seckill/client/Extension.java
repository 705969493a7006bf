package io.github.seckill.client;

/** What became of an extension of a hold. */
public enum Extension {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The order is held at least for the time asked for. */
    EXTENDED,
    /** The order is sold: it has no deadline. */
    ALREADY_SOLD,
    /** The units were released before. */
    TOO_LATE
}
