package io.github.seckill.client;

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

    private static final Confirmation[] BY_CODE = values();

    static Confirmation of(long code) {
        return Args.byCode(BY_CODE, code, "confirmation");
    }
}
