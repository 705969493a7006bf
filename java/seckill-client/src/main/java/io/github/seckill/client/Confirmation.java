package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/** What became of a confirmation. Every one of these is final. */
public enum Confirmation {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The order was held and is sold now. */
    CONFIRMED,
    /** The order was sold before. A repeated confirmation is harmless. */
    ALREADY_SOLD,
    /** The units were released before: give the money back. */
    TOO_LATE;

    static Confirmation of(@Nullable Object reply) {
        return Args.byCode(values(), Replies.integer(reply), "confirmation");
    }
}
