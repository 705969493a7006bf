package io.github.seckill.spring;

import static io.github.seckill.client.Commands.reserve;

import io.github.seckill.client.*;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The ways in which an application mostly uses a {@link SeckillClient}: tries, {@link
 * Commands}, and work under a lock. It can be used by all threads.
 */
public class SeckillTemplate {
    private final SeckillClient client;
    private final ObservationRegistry observations;

    public SeckillTemplate(SeckillClient client) {
        this(client, ObservationRegistry.NOOP);
    }

    /** @param observations is told of each command that is run here, for tracing */
    public SeckillTemplate(SeckillClient client, ObservationRegistry observations) {
        this.client = client;
        this.observations = observations;
    }

    /** The client, which also runs commands without waiting. */
    public SeckillClient client() {
        return client;
    }

    /** Runs a command of {@link Commands} and waits for its reply. */
    public <T> T run(Command<T> command) {
        if (observations.isNoop()) {
            return client.run(command);
        }
        Observation observation = Observation.createNotStarted("seckill.command", observations)
                .lowCardinalityKeyValue("command", command.name())
                // Prometheus takes a meter only if it has the same tags each time.
                .lowCardinalityKeyValue("reply", "none");
        return observation.observe(() -> {
            T reply;
            try {
                reply = client.run(command);
            } catch (SeckillException failed) {
                observation.lowCardinalityKeyValue(
                        "reply", failed.code().name().toLowerCase(Locale.ROOT));
                throw failed;
            }
            String outcome = reply instanceof Enum<?> word
                    ? word.name()
                    : reply == null ? "none" : reply.getClass().getSimpleName();
            observation.lowCardinalityKeyValue("reply", outcome.toLowerCase(Locale.ROOT));
            return reply;
        });
    }

    /** Tries to buy a unit. Use the same order id to try again. */
    public Outcome tryBuy(String voucher, String user, String orderId) {
        return run(Commands.tryBuy(voucher, user, orderId));
    }

    /** Tries to buy a unit. The server makes the id of the order, if it accepts. */
    public Purchase tryBuy(String voucher, String user) {
        return run(Commands.tryBuy(voucher, user));
    }

    /**
     * Reserves a unit until a deadline, or waits in line for one where all is sold. Called again
     * with the same order id, it says the position, and at last the deadline.
     */
    public Reservation reserveOrWait(String voucher, String user, String orderId) {
        return run(reserve(Commands.tryBuy(voucher, user, orderId).waitlist()));
    }

    /**
     * Does something while holding a lock, for which it waits in the server's line.
     *
     * @param key the lock
     * @param wait how long to wait for it at most
     * @param work what to do
     * @return what the work has returned; empty if another owner held the lock all the time, and
     *     also if the work has returned null, so work that must be told apart returns something
     * @throws E what the work throws
     * @throws InterruptedException if the thread was interrupted while it waited
     * @throws io.github.seckill.client.SeckillException.LockLost if the work is done and the lock
     *     was lost meanwhile
     */
    public <T, E extends Exception> Optional<T> underLock(
            String key, Duration wait, LockedWork<T, E> work) throws E, InterruptedException {
        SeckillLock lock = client.lock(key);
        if (!lock.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS)) {
            return Optional.empty();
        }
        @Nullable T result;
        try {
            result = work.run(lock);
        } catch (Throwable failed) {
            unlockAfter(failed, lock);
            throw failed;
        }
        lock.unlock();
        return Optional.ofNullable(result);
    }

    /** What the work has thrown tells more than that the lock is lost, too. */
    private static void unlockAfter(Throwable failed, SeckillLock lock) {
        try {
            lock.unlock();
        } catch (RuntimeException alsoFailed) {
            failed.addSuppressed(alsoFailed);
        }
    }

    /** Work under a lock, which has the {@link SeckillLock#fencingToken()}. */
    @FunctionalInterface
    public interface LockedWork<T, E extends Exception> {
        @Nullable T run(SeckillLock lock) throws E;
    }
}
