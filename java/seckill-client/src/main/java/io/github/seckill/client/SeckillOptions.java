package io.github.seckill.client;

import java.time.Duration;
import java.util.Objects;
import java.util.function.Consumer;

/**
 * How a {@link SeckillClient} behaves. Immutable: {@link #defaults()} and each method with an
 * argument make another one.
 */
public final class SeckillOptions {
    /** The longest {@link #coalescingWindow(Duration)}. */
    public static final Duration WINDOW_MAX = Duration.ofMillis(1);

    /** The greatest {@link #batchMax(int)}. */
    public static final int BATCH_MAX = 256;

    private static final SeckillOptions DEFAULTS = new SeckillOptions(new Values());

    final Values values;

    static final class Values implements Cloneable {
        Duration commandTimeout = Duration.ofSeconds(1);
        Duration retryFor = Duration.ofSeconds(5);
        Coalescing coalescing = Coalescing.AUTO;
        Duration coalescingWindow = Duration.ofNanos(200_000);
        int batchMax = BATCH_MAX;
        int waitingMax = 65_536;
        LockOptions lock = LockOptions.defaults();

        @Override
        protected Values clone() {
            try {
                return (Values) super.clone();
            } catch (CloneNotSupportedException never) {
                throw new AssertionError(never);
            }
        }
    }

    private SeckillOptions(Values values) {
        this.values = values;
    }

    private SeckillOptions with(Consumer<Values> change) {
        Values next = values.clone();
        change.accept(next);
        return new SeckillOptions(next);
    }

    private static void check(boolean holds, String bound, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(bound + ": " + value);
        }
    }

    private static void positive(Duration time, String name) {
        check(!time.isNegative() && !time.isZero(), name + " must be positive", time);
    }

    /** What each of the methods below says. */
    public static SeckillOptions defaults() {
        return DEFAULTS;
    }

    /** How long an answer is waited for until the command counts as unanswered. 1 second. */
    public SeckillOptions commandTimeout(Duration timeout) {
        positive(timeout, "commandTimeout");
        return with(next -> next.commandTimeout = timeout);
    }

    /**
     * How long a command without an answer that is safe to repeat is sent again, from its first
     * sending on; also commands that the server refused for the moment. 5 seconds; zero for never.
     */
    public SeckillOptions retryFor(Duration time) {
        check(!time.isNegative(), "retryFor must not be negative", time);
        return with(next -> next.retryFor = time);
    }

    /** Whether tries travel together. {@link Coalescing#AUTO}. */
    public SeckillOptions coalescing(Coalescing coalescing) {
        Objects.requireNonNull(coalescing, "coalescing");
        return with(next -> next.coalescing = coalescing);
    }

    /** How long a try waits for others at {@link Coalescing#ON}. 200 us, at most 1 ms. */
    public SeckillOptions coalescingWindow(Duration window) {
        boolean holds = !window.isNegative() && window.compareTo(WINDOW_MAX) <= 0;
        check(holds, "coalescingWindow must be from 0 to 1 ms", window);
        return with(next -> next.coalescingWindow = window);
    }

    /** How many tries travel together at most, 1 to 256. 256. */
    public SeckillOptions batchMax(int tries) {
        check(tries >= 1 && tries <= BATCH_MAX, "batchMax must be from 1 to 256", tries);
        return with(next -> next.batchMax = tries);
    }

    /**
     * How many tries of one voucher may wait in this client to be sent together. More fail as
     * {@link SeckillException.Busy} and were not sent. 65,536.
     */
    public SeckillOptions waitingMax(int tries) {
        check(tries >= 1, "waitingMax must be at least 1", tries);
        return with(next -> next.waitingMax = tries);
    }

    /** How locks behave for which nothing else is said. {@link LockOptions#defaults()}. */
    public SeckillOptions lock(LockOptions lock) {
        Objects.requireNonNull(lock, "lock");
        return with(next -> next.lock = lock);
    }

    public Duration commandTimeout() {
        return values.commandTimeout;
    }
}
