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
    /** The longest of all times, a hundred years: two are still counted in nanoseconds. */
    public static final Duration TIME_MAX = Duration.ofDays(36_500);

    private static final SeckillOptions DEFAULTS = new SeckillOptions();

    Duration commandTimeout = Duration.ofSeconds(1);
    Duration retryFor = Duration.ofSeconds(5);
    boolean coalescing = true;
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

    /** What each of the methods below says. */
    public static SeckillOptions defaults() {
        return DEFAULTS;
    }

    /** How long an answer is waited for until the command counts as unanswered. 1 second. */
    public SeckillOptions commandTimeout(Duration timeout) {
        Args.time(timeout, "commandTimeout", 1);
        return with(next -> next.commandTimeout = timeout);
    }

    /**
     * How long a command without an answer that is safe to repeat is sent again, from the call on;
     * also commands that the server refused for the moment. 5 seconds; zero for never.
     */
    public SeckillOptions retryFor(Duration time) {
        Args.time(time, "retryFor", 0);
        return with(next -> next.retryFor = time);
    }

    /**
     * Whether tries on one voucher travel together. One is sent at once when none of its voucher is
     * under way; those that come meanwhile are sent as one SECKILL.MTRY as soon as its answer is
     * there. If too many wait for it, more fail as {@link SeckillException.Busy}. True.
     */
    public SeckillOptions coalescing(boolean coalescing) {
        return with(next -> next.coalescing = coalescing);
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
