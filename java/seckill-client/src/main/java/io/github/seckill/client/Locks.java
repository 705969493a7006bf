package io.github.seckill.client;

import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.regex.*;
import org.jspecify.annotations.Nullable;

/** What the locks of one client share: who holds which, and how one is acquired and released. */
final class Locks implements AutoCloseable {
    /** What a server says that allows no wait as long as that. */
    private static final Pattern WAIT_MAX = Pattern.compile("ERR wait-ms must be 0 to (\\d+) ms");

    /** How often somebody in the queue looks whether the server is still there. */
    private static final long LOOK_MS = TimeUnit.SECONDS.toMillis(10);

    /** A wait of less than this part of the lease is taken off it, a longer one renews it. */
    private static final int LEASE_PARTS = 10;

    private static final long PAUSE_MIN_MS = 20;
    private static final long PAUSE_MAX_MS = 500;

    private final Connections connections;
    private final Sender sender;
    private final Duration timeout;
    private final long retryNanos;
    private final ScheduledExecutorService timer;
    private final ConcurrentMap<Owner, LockHold> holds = new ConcurrentHashMap<>();
    private volatile boolean closed;
    /** The server's longest wait, as far as it is known. A longer one is made of several commands. */
    private volatile long roundMs = TimeUnit.HOURS.toMillis(1);

    Locks(
            Connections connections, Sender sender, SeckillOptions options,
            ScheduledExecutorService timer) {
        this.connections = connections;
        this.sender = sender;
        this.timeout = options.commandTimeout;
        this.retryNanos = options.retryFor.toNanos();
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

    /** Waits in the server's queue, up to this long. */
    @Nullable LockHold acquire(SeckillLock lock, long waitNanos) throws InterruptedException {
        if (Thread.interrupted()) {
            throw new InterruptedException();
        }
        long started = System.nanoTime();
        long end = started + timeout.toNanos() + Math.min(waitNanos, Long.MAX_VALUE / 4);
        long failingSince = 0;
        long pauseMs = 0; // While the server can be asked.
        while (true) {
            // Another one each time: what releases an unanswered grant may come late.
            String token = UUID.randomUUID().toString();
            long asked = System.nanoTime();
            long left = waitNanos - (asked - started);
            try {
                long waitMs = Math.min(roundMs, Math.max(0, left / 1_000_000));
                LockHold hold = ask(lock, token, waitMs);
                if (hold != null || System.nanoTime() - started >= waitNanos) {
                    return hold;
                }
                pauseMs = 0;
            } catch (SeckillException failed) {
                if (allowsLess(failed)) {
                    continue;
                }
                if (failed instanceof SeckillException.NoAnswer) {
                    // Granted without anybody knowing, it would be held for its whole lease.
                    sender.call(Commands.releaseOf(lock.key(), token));
                }
                long now = System.nanoTime();
                // Whoever was in the queue for a while had a server until now.
                boolean begins = pauseMs == 0 || now - asked > 2 * timeout.toNanos();
                failingSince = begins ? now : failingSince;
                pauseMs = begins ? PAUSE_MIN_MS : Math.min(2 * pauseMs, PAUSE_MAX_MS);
                boolean isOver = closed || now - end >= 0 || now - failingSince >= retryNanos;
                if (isOver || !mayPass(failed)) {
                    throw failed;
                }
                TimeUnit.MILLISECONDS.sleep(pauseMs);
            }
        }
    }

    /** If the server allows shorter waits, so are those of this client from now on. */
    private boolean allowsLess(SeckillException failed) {
        Matcher said = WAIT_MAX.matcher(String.valueOf(failed.getMessage()));
        long most = said.matches() ? Long.parseLong(said.group(1)) : 0;
        boolean less = most > 0 && most < roundMs;
        roundMs = less ? most : roundMs;
        return less;
    }

    /** Whether the lock may be asked for again: what was granted unseen is released. */
    private static boolean mayPass(SeckillException failed) {
        return failed instanceof SeckillException.NotNow
                || failed instanceof SeckillException.NoAnswer
                || failed.word().equals("UNBLOCKED");
    }

    private @Nullable LockHold ask(SeckillLock lock, String token, long waitMs)
            throws InterruptedException {
        LockConnection connection = connections.openForLock(lock.key(), timeout);
        boolean answered = false;
        AtomicBoolean inQueue = new AtomicBoolean(true);
        ScheduledFuture<?> looks = null;
        try {
            long began = System.nanoTime();
            Call<Long> acquire = Commands.acquire(lock.key(), token, lock.options(), waitMs);
            Duration patience = timeout.plusMillis(waitMs);
            if (waitMs > LOOK_MS) {
                looks = timer.scheduleWithFixedDelay(
                        () -> look(connection, lock, token, inQueue), LOOK_MS, LOOK_MS,
                        TimeUnit.MILLISECONDS);
            }
            long reply = connection.call(acquire, patience);
            inQueue.set(false);
            Duration lease = lock.options().lease();
            if (reply != 0 && System.nanoTime() - began > lease.toNanos() / LEASE_PARTS) {
                // Granted at some moment of the wait, and for how long is left nobody knows.
                began = System.nanoTime();
                Call<Boolean> renew = Commands.renew(lock.key(), token, lease);
                reply = connection.call(renew, timeout) ? reply : 0;
            }
            answered = true;
            if (reply == 0) {
                connection.giveBack();
                return null;
            }
            LockHold hold = new LockHold(this, lock, token, connection, reply, began);
            holds.put(hold.owner, hold);
            hold.watch(timer);
            if (closed) {
                hold.lose();
                connection.abandon(releaseOf(hold));
            }
            return hold;
        } catch (RejectedExecutionException closing) {
            throw SeckillException.closed();
        } finally {
            if (looks != null) {
                looks.cancel(false);
            }
            if (!answered) {
                // A late grant would reach no caller: it is released right behind it.
                connection.abandon(Commands.releaseOf(lock.key(), token));
            }
        }
    }

    /** A server that is gone without a word is not waited for: renewing says whether it answers. */
    private void look(
            LockConnection connection, SeckillLock lock, String token, AtomicBoolean inQueue) {
        sender.call(Commands.renew(lock.key(), token, lock.options().lease()))
                .whenComplete((renewed, failed) -> {
                    // Later it would close what may be another lock's connection.
                    if (failed != null && mayPass(SeckillException.of(failed)) && inQueue.get()) {
                        connection.close();
                    }
                });
    }

    private static Call<Boolean> releaseOf(LockHold hold) {
        return Commands.releaseOf(hold.owner.key(), hold.token);
    }

    void renew(LockHold hold) {
        long asked = System.nanoTime();
        Duration lease = hold.options().lease();
        sender.call(Commands.renew(hold.owner.key(), hold.token, lease))
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
            boolean released = hold.connection.call(releaseOf(hold), timeout);
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
        } catch (SeckillException refused) {
            // This server has done nothing, and perhaps has the lock no more: whoever has does it.
            try {
                return releaseOtherwise(hold).get();
            } catch (InterruptedException again) {
                interrupted = true;
                return true;
            } catch (ExecutionException failed) {
                throw SeckillException.of(failed).thrownHere();
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private CompletableFuture<Boolean> releaseOtherwise(LockHold hold) {
        hold.connection.close();
        return sender.call(releaseOf(hold));
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
