package io.github.seckill.client;

import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** One acquisition of a lock: held, and then ended by its owner or lost, once. */
final class LockHold {
    private static final int RENEWALS_PER_LEASE = 3;

    private enum State {
        HELD,
        ENDED,
        LOST
    }

    private final Locks locks;
    private final SeckillLock lock;
    final String token;
    final LockConnection connection;
    final long fencingToken;
    final Locks.Owner owner;
    private final long leaseNanos;
    private final AtomicReference<State> state = new AtomicReference<>(State.HELD);
    private volatile long leaseEnds;
    private volatile @Nullable ScheduledFuture<?> tick;

    /** How often the owner has taken it. Touched by the owner only. */
    int count = 1;

    LockHold(
            Locks locks, SeckillLock lock, String token, LockConnection connection,
            long fencingToken, long leaseBegan) {
        this.locks = locks;
        this.lock = lock;
        this.token = token;
        this.connection = connection;
        this.fencingToken = fencingToken;
        this.owner = Locks.Owner.of(lock.key());
        this.leaseNanos = lock.options().lease().toNanos();
        this.leaseEnds = leaseBegan + leaseNanos;
    }

    /** Renews the lease, or sees it end, until its owner has; and hears of the connection's end. */
    void watch(ScheduledExecutorService timer) {
        long period = Math.max(1, leaseNanos / RENEWALS_PER_LEASE);
        try {
            tick = timer.scheduleWithFixedDelay(this::tick, period, period, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException closed) {
            lose();
            return;
        }
        if (options().session()) {
            connection.onLost(this::lose);
        }
    }

    /**
     * A thread that has ended without releasing the lock never will: its lease is not renewed any
     * more, and ends.
     */
    private void tick() {
        boolean ended = !owner.thread().isAlive();
        if (System.nanoTime() - leaseEnds >= 0) {
            lose();
        } else if (options().renew() && !ended && isHeld()) {
            locks.renew(this);
        }
        if (ended && !isHeld()) {
            stop();
            locks.forget(this);
            connection.close();
        }
    }

    void renewed(long asked) {
        leaseEnds = asked + leaseNanos;
    }

    /** The owner has ended it. False if it was lost before. */
    boolean end() {
        stop();
        boolean held = isHeld();
        state.compareAndSet(State.HELD, State.ENDED);
        connection.onLost(null);
        return held;
    }

    /** The server, or the time, has ended it. */
    void lose() {
        if (state.compareAndSet(State.HELD, State.LOST)) {
            lock.tellLost(owner.thread());
        }
    }

    private void stop() {
        ScheduledFuture<?> running = tick;
        if (running != null) {
            running.cancel(false);
        }
    }

    boolean isHeld() {
        return state.get() == State.HELD && System.nanoTime() - leaseEnds < 0;
    }

    LockOptions options() {
        return lock.options();
    }
}
