package io.github.seckill.client;

import io.github.seckill.client.SeckillTransport.LockConnection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;

/** What the locks of one client share: who holds which, and how one is acquired and released. */
final class Locks implements AutoCloseable {
    /** The longest wait of one command. A longer wait is made of several commands. */
    private static final long ROUND_MS = TimeUnit.MINUTES.toMillis(10);

    private static final long PAUSE_MS = 20;

    private final SeckillTransport transport;
    private final Sender sender;
    private final Duration timeout;
    private final long retryNanos;
    private final ScheduledExecutorService timer;
    private final ConcurrentMap<Owner, LockHold> holds = new ConcurrentHashMap<>();
    private volatile boolean closed;

    Locks(
            SeckillTransport transport, Sender sender, SeckillOptions options,
            ScheduledExecutorService timer) {
        this.transport = transport;
        this.sender = sender;
        this.timeout = options.commandTimeout();
        this.retryNanos = options.values.retryFor.toNanos();
        this.timer = timer;
    }

    /** A lock is held by a thread, whichever of its objects was called. */
    record Owner(String key, Thread thread) {
        static Owner of(String key) {
            return new Owner(key, Thread.currentThread());
        }
    }

    @Nullable LockHold holdOf(String key) {
        return holds.get(Owner.of(key));
    }

    /** Waits in the server's line, up to this long. */
    @Nullable LockHold acquire(SeckillLock lock, long waitNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        String token = UUID.randomUUID().toString();
        long started = System.nanoTime();
        boolean unanswered = false;
        LockHold hold = null;
        try {
            while (true) {
                long left = waitNanos - (System.nanoTime() - started);
                long waitMs = Math.min(ROUND_MS, Math.max(0, left / 1_000_000));
                try {
                    hold = ask(lock, token, waitMs);
                    if (hold != null || System.nanoTime() - started >= waitNanos) {
                        return hold;
                    }
                } catch (SeckillException failed) {
                    unanswered |= failed instanceof SeckillException.NoAnswer;
                    if (!mayPass(failed) || isOver(started, waitNanos)) {
                        throw failed;
                    }
                    TimeUnit.MILLISECONDS.sleep(PAUSE_MS);
                }
            }
        } finally {
            if (unanswered && hold == null) {
                // Granted without anybody knowing, it would be held for its whole lease.
                sender.call(Commands.releaseOf(lock.key(), token), () -> {});
            }
        }
    }

    private boolean isOver(long started, long waitNanos) {
        return closed || System.nanoTime() - started >= Math.max(waitNanos, retryNanos);
    }

    /** Whether the lock may be asked for again: the token makes sure that it is acquired once. */
    private static boolean mayPass(SeckillException failed) {
        return failed instanceof SeckillException.NotNow
                || failed instanceof SeckillException.NoAnswer
                || failed.word().equals("UNBLOCKED");
    }

    private @Nullable LockHold ask(SeckillLock lock, String token, long waitMs)
            throws InterruptedException {
        LockConnection connection = transport.openLockConnection(lock.key(), timeout);
        boolean answered = false;
        try {
            long asked = System.nanoTime();
            Call<Long> acquire = Commands.acquire(lock.key(), token, lock.options(), waitMs);
            Duration patience = timeout.plusMillis(waitMs);
            long reply = acquire.read(connection.call(acquire.request(), patience));
            answered = true;
            if (reply == 0) {
                connection.giveBack();
                return null;
            }
            // After a wait the lease began when the server granted it: the way of its answer ago.
            long began = waitMs == 0 ? asked : System.nanoTime();
            LockHold hold = new LockHold(this, lock, token, connection, reply, began);
            holds.put(hold.owner, hold);
            hold.watch(timer);
            if (closed) {
                hold.lose();
                connection.abandon(releaseOf(hold).request());
            }
            return hold;
        } finally {
            if (!answered) {
                // A late grant would reach no caller: it is released right behind it.
                connection.abandon(Commands.releaseOf(lock.key(), token).request());
            }
        }
    }

    private static Call<Boolean> releaseOf(LockHold hold) {
        return Commands.releaseOf(hold.owner.key(), hold.token);
    }

    void renew(LockHold hold) {
        long asked = System.nanoTime();
        Duration lease = hold.options().lease();
        sender.call(Commands.renew(hold.owner.key(), hold.token, lease), () -> {})
                .whenComplete((renewed, failed) -> {
                    if (failed != null) {
                        return; // The lease goes on, and so do the renewals until it ends.
                    }
                    if (renewed) {
                        hold.renewed(asked);
                    } else {
                        hold.lose();
                    }
                });
    }

    /** Ends a hold, and says whether the lock was still held. */
    boolean release(LockHold hold) {
        forget(hold);
        if (!hold.end()) {
            hold.connection.close();
            return false;
        }
        boolean interrupted = Thread.interrupted();
        try {
            Call<Boolean> release = releaseOf(hold);
            boolean released = release.read(hold.connection.call(release.request(), timeout));
            hold.connection.giveBack();
            return released;
        } catch (InterruptedException again) {
            interrupted = true;
            releaseOtherwise(hold);
            return true;
        } catch (SeckillException.NoAnswer lost) {
            // An earlier release may have been carried out, so another reply would say nothing.
            releaseOtherwise(hold);
            return true;
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private CompletableFuture<?> releaseOtherwise(LockHold hold) {
        hold.connection.close();
        return sender.call(releaseOf(hold), () -> {});
    }

    void forget(LockHold hold) {
        holds.remove(hold.owner, hold);
    }

    /** Releases what is held, also what is not tied to a connection, and waits for that a while. */
    void releaseAll() {
        List<CompletableFuture<?>> releases = new ArrayList<>();
        for (LockHold hold : holds.values()) {
            forget(hold);
            if (hold.end()) {
                releases.add(releaseOtherwise(hold));
            }
        }
        try {
            CompletableFuture.allOf(releases.toArray(CompletableFuture[]::new))
                    .get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException unreachable) {
            // Their leases end them.
        }
    }

    @Override
    public void close() {
        closed = true;
        releaseAll();
    }
}
