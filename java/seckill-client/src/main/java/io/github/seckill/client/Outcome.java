package io.github.seckill.client;

/** What became of a try. None of these is an error. */
public enum Outcome {
    /** The units are the user's: sold, or held until the deadline where the sale has holds. */
    ACCEPTED,
    /** Fewer units are left than asked for. */
    SOLD_OUT,
    /** The user has as many units as one user may have. */
    AT_LIMIT,
    /** The sale of a managed voucher has not begun. */
    NOT_STARTED,
    /** The sale of a managed voucher has ended. */
    ENDED,
    /** This order id was accepted before, or waited, and was released. It never sells again. */
    RELEASED,
    /** All is sold, and the order waits in the queue for units that are released. */
    WAITING,
    /** This article of a cart could be had, but another one could not: nothing is taken. */
    NOT_TAKEN,
    /**
     * No answer came, and the try could not be sent again safely: the units may be the user's or
     * not. Tries on managed vouchers end so only when the server could not be reached until the end
     * of {@link SeckillOptions#retryFor}; asking again with the same order id is safe. Also an
     * outcome of a newer server that this client does not know.
     */
    UNKNOWN;

    private static final Outcome[] ALL = values();

    static Outcome of(long code) {
        return code >= 0 && code < UNKNOWN.ordinal() ? ALL[(int) code] : UNKNOWN;
    }
}
