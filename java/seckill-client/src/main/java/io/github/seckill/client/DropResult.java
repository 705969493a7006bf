package io.github.seckill.client;

/** What became of dropping a voucher. */
public enum DropResult {
    /** There were no keys of this voucher, or no more. */
    NO_VOUCHER,
    /** The keys of the voucher are gone. */
    DROPPED,
    /** A hundred held orders were released and more are held: drop again. */
    MORE_HELD
}
