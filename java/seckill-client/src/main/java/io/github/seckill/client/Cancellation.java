package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/** What became of a cancellation. */
public enum Cancellation {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The units are back in the stock, and the user may buy again. */
    RELEASED,
    /** They were released before. */
    ALREADY_RELEASED,
    /** The order is not in the state that {@link Commands#cancelIf} names: nothing changed. */
    OTHER_STATE;

    static Cancellation of(@Nullable Object reply) {
        return Args.byCode(values(), Replies.integer(reply), "cancellation");
    }
}
