package io.github.seckill.client;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * How the sale of a voucher stands. What an unmanaged voucher has not is null.
 *
 * @param managed whether the voucher has rules and a book
 * @param total units left, held and sold together
 * @param left units left, or null when there is no stock key
 * @param held units of the orders that wait to be confirmed
 * @param sold units sold
 * @param buyers how many users have bought
 * @param waiting how many orders wait in the queue
 * @param begin when the sale begins, if it is bounded
 * @param end when the sale ends, if it is bounded
 * @param limit units that one user may have
 * @param hold how long orders are held, or null when they are sold at once
 * @param eviction the server's policy that may take the sale's keys away, or null when it may not
 * @param sale the id of the sale
 * @param consistent false if the other figures can't be those of one sale, and {@link
 *     Commands#audit} says what differs. True proves nothing more
 */
public record SaleInfo(
        boolean managed, State state, @Nullable Long total, @Nullable Long left,
        @Nullable Long held, @Nullable Long sold, long buyers, @Nullable Long waiting,
        @Nullable Instant begin, @Nullable Instant end, long limit, @Nullable Duration hold,
        @Nullable String eviction, @Nullable Long sale, @Nullable Boolean consistent) {
    /** Where a sale stands. */
    public enum State {
        /** It has not begun. */
        SCHEDULED,
        /** Units are on sale. */
        OPEN,
        /** Nothing is left at the moment. Holds that expire open the sale again. */
        SOLDOUT,
        /** It has ended. */
        ENDED
    }
}
