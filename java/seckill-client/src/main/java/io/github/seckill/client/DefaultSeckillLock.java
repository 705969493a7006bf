package io.github.seckill.client;

import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;

/** A lock by LOCK.ACQUIRE and LOCK.RELEASE. */
final class DefaultSeckillLock implements SeckillLock {
    private final Locks locks;
    private final String key;
    private final LockOptions options;
    private final List<LostListener> listeners = new CopyOnWriteArrayList<>();

    DefaultSeckillLock(Locks locks, String key, LockOptions options) {
        this.locks = locks;
        this.key = Objects.requireNonNull(key, "key");
        this.options = options;
    }

    @Override
    public String key() {
        return key;
    }

    LockOptions options() {
        return options;
    }

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

    @Override
    public void lockInterruptibly() throws InterruptedException {
        if (!take(Long.MAX_VALUE)) {
            throw new IllegalStateException("an endless wait has ended");
        }
    }

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
            throw lost();
        }
        held.takeAgain();
        return true;
    }

    @Override
    public void unlock() {
        LockHold held = mine();
        if (held.giveOnce() && !locks.release(held)) {
            throw lost();
        }
    }

    private LockHold mine() {
        LockHold held = locks.holdOf(key);
        if (held == null) {
            throw new IllegalMonitorStateException("this thread does not hold the lock " + key);
        }
        return held;
    }

    private SeckillException lost() {
        return new SeckillException.LockLost(
                "LOCKLOST the lock " + key + " was lost before its release", null);
    }

    @Override
    public Condition newCondition() {
        throw new UnsupportedOperationException("a lock between processes has no conditions");
    }

    @Override
    public long fencingToken() {
        LockHold held = mine();
        if (!held.options().fenced()) {
            throw new IllegalMonitorStateException("the lock " + key + " has no fencing tokens");
        }
        return held.fencingToken();
    }

    @Override
    public boolean isHeldByCurrentThread() {
        LockHold held = locks.holdOf(key);
        return held != null && held.isHeld();
    }

    @Override
    public int holdCount() {
        LockHold held = locks.holdOf(key);
        return held == null ? 0 : held.count();
    }

    @Override
    public void onLost(LostListener listener) {
        listeners.add(Objects.requireNonNull(listener, "listener"));
    }

    void tellLost(Thread holder) {
        for (LostListener listener : listeners) {
            listener.lost(this, holder);
        }
    }

    @Override
    public String toString() {
        return "SeckillLock " + key;
    }
}
