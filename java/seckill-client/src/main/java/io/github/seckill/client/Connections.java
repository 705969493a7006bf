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
    private final @Nullable RedisURI uri;
    private final Map<String, Deque<LockConnection>> idle = new HashMap<>();
    /** Every lock connection that is open, idle or not. */
    private final Set<LockConnection> locks = ConcurrentHashMap.newKeySet();
    /** So many lock connections to one server are opened at a time, for those who wait for them. */
    private final ConcurrentMap<String, Semaphore> openings = new ConcurrentHashMap<>();
    private volatile @Nullable Servers servers;
    private volatile @Nullable StatefulConnection<String, String> shared;
    private @Nullable CompletableFuture<StatefulConnection<String, String>> connecting;
    private volatile boolean closed;

    Connections(Supplier<? extends AbstractRedisClient> source, @Nullable RedisURI uri) {
        this.source = source;
        this.uri = uri;
    }

    private Servers servers() {
        if (closed) {
            throw new RedisException("the client is disconnected");
        }
        Servers present = servers;
        if (present == null) {
            present = source.get() instanceof RedisClusterClient cluster
                    ? new Servers.Cluster(cluster)
                    : Servers.One.of((RedisClient) source.get(), uri);
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
        StatefulConnection<String, String> present = shared;
        if (present != null && isUsable(present)) {
            sending.dispatch(present, timeout);
            return sending;
        }
        CompletableFuture<StatefulConnection<String, String>> attempt = connect();
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

    /** A connection that is lost for a while comes back by itself, unless the client forbids it. */
    private static boolean isUsable(StatefulConnection<String, String> connection) {
        return connection.isOpen() || connection.getOptions().isAutoReconnect();
    }

    /** One attempt at a time, for all who wait for it. */
    private synchronized CompletableFuture<StatefulConnection<String, String>> connect() {
        StatefulConnection<String, String> present = shared;
        if (present != null && isUsable(present)) {
            return CompletableFuture.completedFuture(present);
        }
        CompletableFuture<StatefulConnection<String, String>> underWay = connecting;
        if (underWay != null) {
            return underWay;
        }
        try {
            Servers asked = servers();
            CompletableFuture<StatefulConnection<String, String>> made = asked.connect();
            connecting = made;
            made.whenComplete((connection, failed) -> connected(asked, made, connection));
            return made;
        } catch (RuntimeException failed) {
            return CompletableFuture.failedFuture(failed);
        }
    }

    /** The next one begins another attempt; the first connection that is there is taken. */
    private synchronized void isGivenUp(
            CompletableFuture<StatefulConnection<String, String>> attempt) {
        connecting = connecting == attempt ? null : connecting;
    }

    private synchronized void connected(
            Servers asked, CompletableFuture<StatefulConnection<String, String>> attempt,
            @Nullable StatefulConnection<String, String> made) {
        isGivenUp(attempt);
        StatefulConnection<String, String> old = shared;
        if (made == null) {
            return;
        }
        if (asked != servers || old != null && isUsable(old)) {
            made.closeAsync();
            return;
        }
        shared = made;
        if (old != null) {
            old.closeAsync();
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

    private static <T> T within(CompletableFuture<T> future, Duration timeout)
            throws InterruptedException {
        try {
            return future.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
        } catch (ExecutionException failed) {
            throw SeckillException.notConnected(failed.getCause());
        } catch (TimeoutException late) {
            throw SeckillException.notConnected(late);
        }
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
            throw new RedisException("the client is disconnected");
        }
        Deque<LockConnection> kept = idle.get(server);
        return kept == null ? null : kept.poll();
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
        StatefulConnection<String, String> connection;
        synchronized (this) {
            closed = true;
            connection = shared;
            connecting = null;
            shared = null;
            servers = null;
            idle.clear();
        }
        locks.forEach(LockConnection::close);
        if (connection != null) {
            connection.close();
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
