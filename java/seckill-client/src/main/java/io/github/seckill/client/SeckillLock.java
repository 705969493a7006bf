package io.github.seckill.client;

import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.Lock;
import java.util.function.BiConsumer;

/**
 * A lock between processes, for which waiters stand in the queue on the server: nothing is polled,
 * and the first who came is the next holder.
 *
 * <p>It is held by a thread and reentrant: all locks of one client and one key are the same lock.
 * Each holder and each waiter has a connection of their own. A holder's process that ends frees the
 * lock at once, if {@link LockOptions#session()}; else the lease ends it.
 *
 * <p><b>A lock can be lost</b>: its lease ends while its process sleeps, its connection breaks, a
 * failover forgets it. {@link #onLost} and {@link #isHeldByCurrentThread()} tell what this process
 * knows. The thread takes the lock again only after {@link #unlock()}: until then every way to take
 * it throws {@link SeckillException.LockLost}. Only a storage that refuses smaller {@link
 * #fencingToken() fencing tokens} excludes that a holder who does not know it yet does damage.
 */
public class SeckillLock implements Lock {
    private final Locks locks;
    private final String key;
    private final LockOptions options;
    private final List<BiConsumer<SeckillLock, Thread>> listeners = new CopyOnWriteArrayList<>();

    SeckillLock(Locks locks, String key, LockOptions options) {
        this.locks = locks;
        this.key = Args.text(key, "key");
        this.options = Args.present(options, "options");
    }

    public String key() {
        return key;
    }

    LockOptions options() {
        return options;
    }

    /**
     * Waits for as long as it takes. A thread that is interrupted meanwhile goes on waiting, at the
     * end of the queue, and is interrupted when it returns.
     *
     * @throws SeckillException if the server can't be asked for as long as {@link
     *     SeckillOptions#retryFor}
     */
    @Override
    public void lock() {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    lockInterruptibly();
                    return;
                } catch (InterruptedException later) {
                    interrupted = true;
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits for as long as it takes, or until the thread is interrupted. */
    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!take(Long.MAX_VALUE)) {
            throw new IllegalStateException("an endless wait has ended");
        }
    }

    /** Takes the lock if it is free. */
    @Override
    public boolean tryLock() {
        boolean interrupted = Thread.interrupted();
        try {
            return take(0);
        } catch (InterruptedException during) {
            interrupted = true;
            return false;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Waits in the server's queue, which a thread that is interrupted leaves. */
    @Override
    public boolean tryLock(long time, TimeUnit unit) throws InterruptedException {
        return take(Math.max(0, unit.toNanos(time)));
    }

    private boolean take(long waitNanos) throws InterruptedException {
        LockHold held = locks.holdOf(key);
        if (held == null) {
            return locks.acquire(this, waitNanos) != null;
        }
        if (!held.isHeld()) {
            throw new SeckillException.LockLost(
                    "LOCKLOST this thread's hold of the lock " + key + " was lost: it takes the"
                            + " lock again only after unlock(), which ends that hold", null);
        }
        held.count = Math.addExact(held.count, 1);
        return true;
    }

    /**
     * Releases the lock once for each time that it was taken.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold the lock
     * @throws SeckillException.LockLost if it was lost before: the work may have overlapped with
     *     another holder's. The current thread does not hold it any more
     * @throws SeckillException if no server could be asked to release it. The current thread does
     *     not hold it any more, and its lease ends
     */
    @Override
    public void unlock() {
        LockHold held = mine();
        held.count--;
        if (held.count == 0 && !locks.release(held)) {
            throw new SeckillException.LockLost(
                    "LOCKLOST the lock " + key + " was lost before its release", null);
        }
    }

    private LockHold mine() {
        LockHold held = locks.holdOf(key);
        if (held == null) {
            throw new IllegalMonitorStateException("this thread does not hold the lock " + key);
        }
        return held;
    }

    /** Not supported: no holder can wait for a signal here. */
    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock between processes has no conditions");
    }

    /**
     * The number of this acquisition, greater than those of all earlier ones: send it along with
     * every write, and have the storage refuse a smaller one than it has seen.
     *
     * @throws IllegalMonitorStateException if the current thread does not hold the lock, or the
     *     lock has none by its {@link LockOptions}
     */
    public long fencingToken() {
        LockHold held = mine();
        if (!held.options().fenced()) {
            throw new IllegalMonitorStateException("the lock " + key + " has no fencing tokens");
        }
        return held.fencingToken;
    }

    /** Whether the current thread holds the lock, as far as this process knows. */
    public boolean isHeldByCurrentThread() {
        LockHold held = locks.holdOf(key);
        return held != null && held.isHeld();
    }

    /** How often the current thread has taken the lock and not released it. */
    public int holdCount() {
        LockHold held = locks.holdOf(key);
        return held == null ? 0 : held.count;
    }

    /**
     * Adds a listener to be called when a holder's lock is lost before its release, with that
     * thread, which is not interrupted. It is called on a thread that must not be kept.
     */
    public void onLost(BiConsumer<SeckillLock, Thread> listener) {
        listeners.add(Args.present(listener, "listener"));
    }

    void tellLost(Thread holder) {
        for (BiConsumer<SeckillLock, Thread> listener : listeners) {
            try {
                listener.accept(this, holder);
            } catch (Throwable broken) {
                // The others are told all the same.
            }
        }
    }

    @Override
    public String toString() {
        return "SeckillLock " + key;
    }
}
