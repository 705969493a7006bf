package io.github.seckill.client;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;

/**
 * A lock between processes, for which waiters stand in line on the server: nothing is polled, and
 * the first who came is the next holder.
 *
 * <p>It is held by a thread and reentrant, which is counted in the client: all locks of one client
 * and one key are the same lock. Each holder and each waiter has a connection of their own. A
 * holder's process that ends frees the lock at once, if {@link LockOptions#session()}; else the
 * lease ends it.
 *
 * <p><b>A lock can be lost</b>: its lease ends while its process sleeps, its connection breaks, a
 * failover forgets it. {@link #onLost} and {@link #isHeldByCurrentThread()} tell what this process
 * knows. Only a storage that refuses smaller {@link #fencingToken() fencing tokens} excludes that a
 * holder who does not know it yet does damage.
 */
public interface SeckillLock extends Lock {
    /**
     * The name of the lock.
     *
     * @return its key
     */
    String key();

    /**
     * Waits for the lock for as long as it takes. A thread that is interrupted in the meantime continues
     * waiting, at the end of the line, and is interrupted when it returns.
     *
     * @throws SeckillException if the server can't be asked
     */
    @Override
    void lock();

    /**
     * Waits for the lock for as long as it takes, or until the thread is interrupted.
     *
     * @throws InterruptedException if the thread was interrupted: it is out of the line then
     */
    @Override
    void lockInterruptibly() throws InterruptedException;

    /**
     * Takes the lock if it is free.
     *
     * @return whether the current thread holds it
     */
    @Override
    boolean tryLock();

    /**
     * Waits for the lock in the server's line.
     *
     * @param time how long to wait at most
     * @param unit the unit of the time
     * @return whether the current thread holds it
     * @throws InterruptedException if the thread was interrupted: it is out of the line then
     */
    @Override
    boolean tryLock(long time, TimeUnit unit) throws InterruptedException;

    /**
     * Releases the lock once for each time that it was taken.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     * @throws SeckillException.LockLost if it was lost before: the work may have overlapped with
     *     another holder's. The current thread does not hold it any more
     */
    @Override
    void unlock();

    /**
     * Not supported: no holder can wait for a signal here.
     *
     * @throws UnsupportedOperationException always
     */
    @Override
    Condition newCondition();

    /**
     * The number of this acquisition, greater than those of all earlier ones: send it along with
     * every write, and have the storage refuse a smaller one than it has seen.
     *
     * @return the fencing token
     * @throws IllegalMonitorStateException if the current thread does not hold the lock, or the
     *     lock has none by its {@link LockOptions}
     */
    long fencingToken();

    /**
     * Whether the current thread holds the lock, as far as this process knows.
     *
     * @return false also if the lock was lost
     */
    boolean isHeldByCurrentThread();

    /**
     * How often the current thread has taken the lock and not released it.
     *
     * @return 0 if it does not hold it
     */
    int holdCount();

    /**
     * Adds a listener to be called when a holder's lock is lost before its release.
     *
     * @param listener is called when the lock is lost, on a thread that must not be blocked
     */
    void onLost(LostListener listener);

    /** Is told that a lock was lost. */
    @FunctionalInterface
    interface LostListener {
        /**
         * The lock is no longer the holder's.
         *
         * @param lock the lock
         * @param holder the thread that held it. It is not interrupted: do that here if it is right
         */
        void lost(SeckillLock lock, Thread holder);
    }
}
