package io.github.seckill.client;

import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * The rules of a managed voucher. What is null is not sent: the server's default at {@link
 * Commands#create}, no change at {@link Commands#alter}.
 *
 * @param begin when the sale begins; {@link Instant#EPOCH} for no bound
 * @param end when the sale ends; {@link Instant#EPOCH} for no bound
 * @param limit how many units one user may have
 * @param hold how long an accepted order is held for its payment; {@link Duration#ZERO} for none
 */
public record SaleRules(
        @Nullable Instant begin, @Nullable Instant end, @Nullable Long limit,
        @Nullable Duration hold) {
    private static final SaleRules NONE = new SaleRules(null, null, null, null);

    /** Refuses what the server would, and a hold so short that it would be none. */
    public SaleRules {
        millis(begin, "begin");
        millis(end, "end");
        if (limit != null) {
            Args.range(limit, "limit", 1, Long.MAX_VALUE);
        }
        if (hold != null && !hold.isZero()) {
            Args.millis(hold, "hold");
        }
    }

    private static void millis(@Nullable Instant time, String name) {
        Instant last = Instant.ofEpochMilli(Long.MAX_VALUE);
        if (time != null && (time.isBefore(Instant.EPOCH) || time.isAfter(last))) {
            throw new IllegalArgumentException(
                    name + " must be from " + Instant.EPOCH + " to " + last + ": " + time);
        }
    }

    /** No rule at all: one unit per user, for good, sold at once. */
    public static SaleRules none() {
        return NONE;
    }

    public SaleRules begin(Instant begin) { return new SaleRules(begin, end, limit, hold); }
    public SaleRules end(Instant end) { return new SaleRules(begin, end, limit, hold); }
    public SaleRules limit(long units) { return new SaleRules(begin, end, units, hold); }
    public SaleRules hold(Duration hold) { return new SaleRules(begin, end, limit, hold); }
}
