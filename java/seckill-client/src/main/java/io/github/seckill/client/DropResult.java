package io.github.seckill.client;

/** What became of dropping a voucher. */
public enum DropResult {
    /** There were no keys of this voucher. */
    NO_VOUCHER,
    /** The keys of the voucher are gone. */
    DROPPED,
    /** A hundred held orders were released and more are held: drop again. */
    MORE_HELD;

    private static final DropResult[] BY_CODE = values();

    static DropResult of(long code) {
        return Args.byCode(BY_CODE, code, "drop");
    }
}
