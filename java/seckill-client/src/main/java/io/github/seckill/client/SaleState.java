package io.github.seckill.client;

/** Where the sale of a voucher stands. */
public enum SaleState {
    /** It has not begun. */
    PENDING,
    /** Units are on sale. */
    OPEN,
    /** Nothing is left at the moment. Holds that expire open the sale again. */
    SOLDOUT,
    /** It has ended. */
    ENDED
}
