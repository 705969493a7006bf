package io.github.seckill.client;

import io.lettuce.core.RedisURI;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * How a {@link SeckillClient} behaves. Immutable: {@link #defaults()} and each of the other methods
 * make another one.
 */
public final class SeckillOptions implements Cloneable {
    /** Whether tries that are made at the same time on one voucher travel as one SECKILL.MTRY. */
    public enum Coalescing {
        /** Every try is a command of its own. */
        OFF,
        /**
         * A try is sent at once when none of its voucher is under way. Those that come meanwhile
         * travel together as soon as its answer is there: no try waits for others to come.
         */
        AUTO,
        /**
         * A try waits for others, for {@link #coalescingWindow} and while the batch before is under
         * way.
         */
        ON
    }

    private static final Duration WINDOW_MAX = Duration.ofMillis(1);
    private static final int BATCH_MAX = 256;
    private static final SeckillOptions DEFAULTS = new SeckillOptions();

    Duration commandTimeout = Duration.ofSeconds(1);
    Duration retryFor = Duration.ofSeconds(5);
    Coalescing coalescing = Coalescing.AUTO;
    Duration coalescingWindow = Duration.ofNanos(200_000);
    int batchMax = BATCH_MAX;
    int waitingMax = 65_536;
    LockOptions lock = LockOptions.defaults();
    ObservationRegistry observations = ObservationRegistry.NOOP;
    @Nullable RedisURI uri;

    private SeckillOptions() {}

    private SeckillOptions with(Consumer<SeckillOptions> change) {
        try {
            SeckillOptions next = (SeckillOptions) clone();
            change.accept(next);
            return next;
        } catch (CloneNotSupportedException never) {
            throw new AssertionError(never);
        }
    }

    private static void check(boolean holds, String bound, Object value) {
        if (!holds) {
            throw new IllegalArgumentException(bound + ": " + value);
        }
    }

    /** What each of the methods below says. */
    public static SeckillOptions defaults() {
        return DEFAULTS;
    }

    /** How long an answer is waited for until the command counts as unanswered. 1 second. */
    public SeckillOptions commandTimeout(Duration timeout) {
        boolean positive = !timeout.isNegative() && !timeout.isZero();
        check(positive, "commandTimeout must be positive", timeout);
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
        Args.present(coalescing, "coalescing");
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
        Args.present(lock, "lock");
        return with(next -> next.lock = lock);
    }

    /** Who observes each command, as {@code seckill.command}. Nobody. */
    public SeckillOptions observations(ObservationRegistry observations) {
        Args.present(observations, "observations");
        return with(next -> next.observations = observations);
    }

    /** The server, or sentinels, if they are not those that the RedisClient was made with. */
    public SeckillOptions uri(RedisURI uri) {
        Args.present(uri, "uri");
        return with(next -> next.uri = uri);
    }
}
