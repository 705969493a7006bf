package io.github.seckill.client;

import io.lettuce.core.*;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The connections of one client: one for all commands, and those of locks. RESP2 and RESP3. */
final class Connections implements AutoCloseable {
    /** How many lock connections to one server are kept for later. */
    private static final int IDLE_MAX = 8;

    private static final int OPENING_MAX = 16;

    private final Supplier<? extends AbstractRedisClient> source;
    private final SeckillOptions options;
    private final Map<String, Deque<LockConnection>> idle = new HashMap<>();
    /** Every lock connection that is open, idle or not. */
    private final Set<LockConnection> locks = ConcurrentHashMap.newKeySet();
    /** So many lock connections to one server are opened at a time, for those who wait for them. */
    private final ConcurrentMap<String, Semaphore> openings = new ConcurrentHashMap<>();
    /** Those who wait for a connection, or to know the servers, until the client is closed. */
    private final Set<CompletableFuture<?>> waits = ConcurrentHashMap.newKeySet();
    private volatile @Nullable Servers servers;
    private volatile @Nullable Shared shared;
    private @Nullable CompletableFuture<Shared> connecting;
    /** When the last attempt began to replace a connection that is silent. */
    private long replacing = System.nanoTime() - Long.MAX_VALUE / 2;
    private volatile boolean closed;

    Connections(Supplier<? extends AbstractRedisClient> source, SeckillOptions options) {
        this.source = source;
        this.options = options;
    }

    /** The same for all who ask at once: what another one has connected to is closed. */
    private synchronized Servers servers() {
        if (closed) {
            throw disconnected();
        }
        Servers present = servers;
        if (present == null) {
            AbstractRedisClient client = source.get();
            present = client instanceof RedisClusterClient cluster
                    ? new Servers.Cluster(cluster, options)
                    : Servers.One.of((RedisClient) client, options);
            servers = present;
        }
        return present;
    }

    /** Looks up again where the keys are. */
    void refresh() {
        Servers present = servers;
        if (present != null) {
            present.refresh();
        }
    }

    /**
     * Sends a command. The future completes with the reply: a {@link Long}, a {@link String}, null,
     * or a list of these and of lists, with a {@link SeckillException} instead of an element that
     * is an error; or with the exception of an error reply, or with {@link
     * SeckillException.NoAnswer} when the outcome is unknown. Redirections of a cluster are
     * followed. If it is cancelled, what was not written yet never is.
     */
    CompletableFuture<@Nullable Object> send(Call<?> call, Duration timeout) {
        Wire.Sending sending = new Wire.Sending(call);
        Shared present = shared;
        if (present != null && present.isUsable()) {
            sending.dispatch(present, timeout);
            return sending;
        }
        CompletableFuture<Shared> attempt = connect();
        attempt.copy().orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS)
                .whenComplete((connection, failed) -> {
                    if (failed == null) {
                        sending.dispatch(connection, timeout);
                    } else {
                        isGivenUp(attempt);
                        sending.completeExceptionally(SeckillException.notConnected(failed));
                    }
                });
        return sending;
    }

    /** The connection for all commands. */
    final class Shared {
        final StatefulConnection<String, String> lettuce;
        private volatile long answeredNanos = System.nanoTime();
        /** How long it has not answered; null if it answers. */
        private volatile @Nullable Duration silent;

        Shared(StatefulConnection<String, String> lettuce) {
            this.lettuce = lettuce;
        }

        /** One that is lost for a while comes back by itself, unless the client forbids it. */
        boolean isUsable() {
            return lettuce.isOpen() || lettuce.getOptions().isAutoReconnect();
        }

        /** What is under way may be answered yet. */
        void closeLater() {
            Duration patience = silent;
            lettuce.getResources().timer().newTimeout(
                    late -> lettuce.closeAsync(), patience == null ? 0 : patience.toNanos(),
                    TimeUnit.NANOSECONDS);
        }

        void answered() {
            answeredNanos = System.nanoTime();
            silent = null;
        }

        /**
         * It has not answered in time what was dispatched then. Of a cluster each node has a
         * connection of its own, and Lettuce chooses among them.
         */
        void unanswered(long sinceNanos, Duration patience) {
            refresh();
            if (servers instanceof Servers.One && answeredNanos - sinceNanos < 0) {
                silent = patience;
                replace(this, patience);
            }
        }
    }

    /**
     * A server that is frozen, or cut off, closes no connection, whoever is the primary by now: so
     * another one is opened beside, and commands take it as soon as it is there. Its attempts are
     * as rare as time-outs, so that a slow server gets no more to do.
     */
    private void replace(Shared silent, Duration patience) {
        CompletableFuture<Shared> attempt;
        synchronized (this) {
            long now = System.nanoTime();
            if (silent != shared || connecting != null || now - replacing < patience.toNanos()) {
                return;
            }
            replacing = now;
            attempt = begin();
        }
        attempt.copy().orTimeout(patience.toNanos(), TimeUnit.NANOSECONDS)
                .whenComplete((connection, failed) -> isGivenUp(attempt));
    }

    /** One attempt at a time, for all who wait for it. */
    private synchronized CompletableFuture<Shared> connect() {
        Shared present = shared;
        if (present != null && present.isUsable()) {
            return CompletableFuture.completedFuture(present);
        }
        CompletableFuture<Shared> underWay = connecting;
        return underWay != null ? underWay : begin();
    }

    private CompletableFuture<Shared> begin() {
        try {
            Servers asked = servers();
            CompletableFuture<Shared> made = asked.connect().thenApply(Shared::new);
            connecting = made;
            made.whenComplete((connection, failed) -> connected(asked, made, connection));
            return made;
        } catch (RuntimeException failed) {
            return CompletableFuture.failedFuture(failed);
        }
    }

    /** The next one begins another attempt; the first connection that is there is taken. */
    private synchronized void isGivenUp(CompletableFuture<Shared> attempt) {
        connecting = connecting == attempt ? null : connecting;
    }

    private synchronized void connected(
            Servers asked, CompletableFuture<Shared> attempt, @Nullable Shared made) {
        isGivenUp(attempt);
        Shared old = shared;
        if (made == null) {
            return;
        }
        if (asked != servers || old != null && old.isUsable() && old.silent == null) {
            made.lettuce.closeAsync();
            return;
        }
        shared = made;
        if (old != null) {
            old.closeLater();
            List.copyOf(idle.keySet()).forEach(this::closeIdle);
        }
    }

    /** A key of each server that has keys, by the server's name. */
    Map<String, String> keysOfServers(Duration timeout) {
        try {
            return within(servers().keysOfServers(), timeout);
        } catch (RedisException failed) {
            throw SeckillException.notConnected(failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw SeckillException.notConnected(interrupted);
        }
    }

    private <T> T within(CompletableFuture<T> wait, Duration timeout) throws InterruptedException {
        waits.add(wait);
        if (closed) {
            wait.completeExceptionally(disconnected());
        }
        try {
            return wait.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS).get();
        } catch (ExecutionException failed) {
            throw SeckillException.notConnected(failed.getCause());
        } finally {
            waits.remove(wait);
        }
    }

    private static RedisException disconnected() {
        return new RedisException("the client is disconnected");
    }

    /** Opens a connection that nothing else is sent on, for a lock, or takes an idle one. */
    LockConnection openForLock(String key, Duration timeout) throws InterruptedException {
        try {
            Servers asked = servers();
            within(asked.known(), timeout);
            String server = asked.serverOf(key);
            while (true) {
                LockConnection kept = takeIdle(server);
                if (kept == null) {
                    return open(asked, server, timeout);
                }
                if (kept.isOpen()) {
                    return kept;
                }
            }
        } catch (RedisException | IllegalStateException failed) {
            throw SeckillException.notConnected(failed);
        }
    }

    private LockConnection open(Servers asked, String server, Duration timeout)
            throws InterruptedException {
        Semaphore opening =
                openings.computeIfAbsent(server, absent -> new Semaphore(OPENING_MAX));
        if (!opening.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw SeckillException.notConnected(new TimeoutException());
        }
        var attempt = asked.connectTo(server);
        try {
            LockConnection made = new LockConnection(this, server, within(attempt, timeout));
            locks.add(made);
            if (closed || !made.isOpen()) {
                made.close();
                locks.remove(made);
            }
            return made;
        } catch (SeckillException failed) {
            asked.refresh();
            throw failed;
        } finally {
            attempt.cancel(false);
            opening.release();
        }
    }

    private synchronized @Nullable LockConnection takeIdle(String server) {
        if (closed) {
            throw disconnected();
        }
        Deque<LockConnection> kept = idle.get(server);
        return kept == null ? null : kept.poll();
    }

    /** Whoever takes one of them would only wait. */
    void closeIdle(String server) {
        Deque<LockConnection> silent;
        synchronized (this) {
            silent = idle.remove(server);
        }
        if (silent != null) {
            silent.forEach(LockConnection::close);
        }
    }

    void forget(LockConnection connection) {
        locks.remove(connection);
    }

    /** False if there are enough of them. */
    synchronized boolean keep(String server, LockConnection connection) {
        Deque<LockConnection> kept = idle.computeIfAbsent(server, absent -> new ArrayDeque<>());
        kept.removeIf(other -> !other.isOpen());
        return !closed && kept.size() < IDLE_MAX && kept.offer(connection);
    }

    @Override
    public void close() {
        Shared connection;
        synchronized (this) {
            closed = true;
            connection = shared;
            connecting = null;
            shared = null;
            servers = null;
            idle.clear();
        }
        waits.forEach(wait -> wait.completeExceptionally(disconnected()));
        locks.forEach(LockConnection::close);
        if (connection != null) {
            connection.lettuce.close();
        }
    }

    boolean isOpen() {
        return !closed;
    }

    /** Allows connections again after {@link #close()}, when they are needed. */
    void reopen() {
        closed = false;
    }
}
