package io.github.seckill.client;

import java.time.Duration;
import java.util.Objects;

/**
 * How a {@link SeckillClient} behaves. Immutable; {@link #defaults()} and the methods that change
 * one option each make it.
 *
 * @param commandTimeout how long an answer is waited for before the command counts as unanswered
 * @param retryFor how long a command without an answer that is safe to repeat is sent again, from
 *     its first sending on; also commands that the server refused for the moment
 * @param coalescing whether tries travel together
 * @param coalescingWindow how long a try waits for others at {@link Coalescing#ON}; at most 1 ms
 * @param batchMax how many tries travel together at most, 1 to 256
 * @param waitingMax how many tries of one voucher may wait in this client to be sent together. More
 *     fail as {@link SeckillException.Busy} and were not sent
 * @param rememberSoldOut whether a voucher that is sold out is answered without the network until
 *     the server says that its stock has changed. Needs a transport that can watch keys
 * @param soldOutFor how long it is remembered at most, a bound for what no server announces
 * @param stockPrefix the server's {@code seckill.stock-prefix}, to know the key that is watched
 * @param hashTags whether the server's {@code seckill.hash-tags} is {@code yes}. They are always on
 *     in a cluster
 */
public record SeckillOptions(
        Duration commandTimeout,
        Duration retryFor,
        Coalescing coalescing,
        Duration coalescingWindow,
        int batchMax,
        int waitingMax,
        boolean rememberSoldOut,
        Duration soldOutFor,
        String stockPrefix,
        boolean hashTags) {
    /** The longest {@link #coalescingWindow()}. */
    public static final Duration WINDOW_MAX = Duration.ofMillis(1);

    /** The greatest {@link #batchMax()}. */
    public static final int BATCH_MAX = 256;

    private static final SeckillOptions DEFAULTS =
            new SeckillOptions(
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(5),
                    Coalescing.AUTO,
                    Duration.ofNanos(200_000),
                    BATCH_MAX,
                    65_536,
                    false,
                    Duration.ofSeconds(1),
                    "seckill:stock:",
                    false);

    /**
     * Refuses what is out of range.
     *
     * @param commandTimeout as above
     * @param retryFor as above
     * @param coalescing as above
     * @param coalescingWindow as above
     * @param batchMax as above
     * @param waitingMax as above
     * @param rememberSoldOut as above
     * @param soldOutFor as above
     * @param stockPrefix as above
     * @param hashTags as above
     */
    public SeckillOptions {
        positive(commandTimeout, "commandTimeout");
        Objects.requireNonNull(coalescing, "coalescing");
        positive(soldOutFor, "soldOutFor");
        if (retryFor.isNegative()) {
            throw new IllegalArgumentException("retryFor must not be negative: " + retryFor);
        }
        if (coalescingWindow.isNegative() || coalescingWindow.compareTo(WINDOW_MAX) > 0) {
            throw new IllegalArgumentException(
                    "coalescingWindow must be from 0 to 1 ms: " + coalescingWindow);
        }
        if (batchMax < 1 || batchMax > BATCH_MAX) {
            throw new IllegalArgumentException("batchMax must be from 1 to 256: " + batchMax);
        }
        if (waitingMax < 1) {
            throw new IllegalArgumentException("waitingMax must be at least 1: " + waitingMax);
        }
    }

    private static void positive(Duration duration, String name) {
        if (duration.isNegative() || duration.isZero()) {
            throw new IllegalArgumentException(name + " must be positive: " + duration);
        }
    }

    /**
     * The defaults: 1 second for an answer, 5 seconds of repeating, coalescing {@code AUTO} of up
     * to 256 tries, nothing remembered.
     *
     * @return the defaults
     */
    public static SeckillOptions defaults() {
        return DEFAULTS;
    }

    /**
     * With another time-out.
     *
     * @param timeout how long an answer is waited for
     * @return the new options
     */
    public SeckillOptions commandTimeout(Duration timeout) {
        return new SeckillOptions(
                timeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With another time of repeating.
     *
     * @param retryFor how long a command is sent again; zero for never
     * @return the new options
     */
    public SeckillOptions retryFor(Duration retryFor) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With coalescing or without.
     *
     * @param coalescing whether tries travel together
     * @return the new options
     */
    public SeckillOptions coalescing(Coalescing coalescing) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With another window.
     *
     * @param window how long a try waits for others at {@link Coalescing#ON}
     * @return the new options
     */
    public SeckillOptions coalescingWindow(Duration window) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, window, batchMax, waitingMax,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With batches of another size.
     *
     * @param tries how many tries travel together at most
     * @return the new options
     */
    public SeckillOptions batchMax(int tries) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, tries, waitingMax,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With another bound for tries that wait.
     *
     * @param tries how many tries of one voucher may wait to be sent
     * @return the new options
     */
    public SeckillOptions waitingMax(int tries) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, tries,
                rememberSoldOut, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With sold out remembered or not.
     *
     * @param remember whether a sold-out voucher is answered without the network
     * @return the new options
     */
    public SeckillOptions rememberSoldOut(boolean remember) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                remember, soldOutFor, stockPrefix, hashTags);
    }

    /**
     * With another bound for remembering.
     *
     * @param longest how long sold out is remembered at most
     * @return the new options
     */
    public SeckillOptions soldOutFor(Duration longest) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                rememberSoldOut, longest, stockPrefix, hashTags);
    }

    /**
     * With other names of stock keys.
     *
     * @param prefix the server's {@code seckill.stock-prefix}
     * @param hashTags whether the server's {@code seckill.hash-tags} is {@code yes}
     * @return the new options
     */
    public SeckillOptions stockNames(String prefix, boolean hashTags) {
        return new SeckillOptions(
                commandTimeout, retryFor, coalescing, coalescingWindow, batchMax, waitingMax,
                rememberSoldOut, soldOutFor, prefix, hashTags);
    }
}
