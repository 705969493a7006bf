package io.github.seckill.spring;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillLock;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The ways in which an application mostly uses a {@link SeckillClient}: one sale at a time, and
 * work under a lock. It can be used by all threads.
 */
public class SeckillTemplate {
    private final SeckillClient client;

    /**
     * Makes a template.
     *
     * @param client sends the commands
     */
    public SeckillTemplate(SeckillClient client) {
        this.client = client;
    }

    /**
     * All commands.
     *
     * @return the client
     */
    public SeckillClient client() {
        return client;
    }

    /**
     * The sale of a voucher, managed or not.
     *
     * @param voucher the voucher
     * @return its commands
     */
    public SaleOperations sale(String voucher) {
        return new SaleOperations(client, voucher);
    }

    /**
     * Makes a managed voucher.
     *
     * @param voucher the voucher
     * @param stock how many units
     * @param rules its rules
     * @return its commands
     */
    public SaleOperations open(String voucher, long stock, SaleRules rules) {
        client.create(voucher, stock, rules);
        return sale(voucher);
    }

    /**
     * Tries to buy a unit.
     *
     * @param voucher the voucher
     * @param user who buys
     * @param orderId the id of the order. Use the same one to try again
     * @return what became of it
     */
    public Outcome tryBuy(String voucher, String user, String orderId) {
        return client.tryBuy(voucher, user, orderId);
    }

    /**
     * Does something while holding a lock, for which it waits in the server's line.
     *
     * @param key the lock
     * @param wait how long to wait for it at most
     * @param work what to do
     * @param <T> what the work returns
     * @param <E> what the work may throw
     * @return what the work has returned, or empty if another owner held the lock all the time
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
        T result;
        try {
            result = work.run(lock);
        } catch (Throwable failed) {
            unlockAfter(failed, lock);
            throw failed;
        }
        lock.unlock();
        return Optional.of(result);
    }

    /** What the work has thrown tells more than that the lock is lost, too. */
    private static void unlockAfter(Throwable failed, SeckillLock lock) {
        try {
            lock.unlock();
        } catch (RuntimeException alsoFailed) {
            failed.addSuppressed(alsoFailed);
        }
    }

    /**
     * Work under a lock.
     *
     * @param <T> what it returns
     * @param <E> what it may throw
     */
    @FunctionalInterface
    public interface LockedWork<T, E extends Exception> {
        /**
         * Works.
         *
         * @param lock the lock, which is held. It has the {@link SeckillLock#fencingToken()}
         * @return the result
         * @throws E what it may throw
         */
        T run(SeckillLock lock) throws E;
    }
}
