package io.github.seckill.client;

/** What became of a cancellation. */
public enum Cancellation {
    /** There is no such order of this user, or not in this sale. */
    NO_ORDER,
    /** The units are back in the stock, and the user may buy again. */
    RELEASED,
    /** They were released before. */
    ALREADY_RELEASED,
    /** The order is not in the state that {@link SeckillClient#cancelIf} names: nothing changed. */
    OTHER_STATE;

    private static final Cancellation[] BY_CODE = values();

    static Cancellation of(long code) {
        return Args.byCode(BY_CODE, code, "cancellation");
    }
}
