package io.github.seckill.client.lettuce;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import io.lettuce.core.*;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sends by Lettuce, over connections of its own that it opens when they are needed: one for all
 * commands, and one for each holder of a lock and for each waiter. RESP2 and RESP3, whichever the
 * client speaks.
 *
 * <p>What Lettuce writes again after a lost connection is never a command that must not be
 * repeated: the client's options may stay as they are.
 */
public final class LettuceTransport implements SeckillTransport {
    /** How many lock connections to one server are kept for later. */
    private static final int IDLE_MAX = 8;

    private static final int OPENING_MAX = 16;

    private final Supplier<Servers> source;
    private final Map<String, Deque<LettuceLockConnection>> idle = new HashMap<>();
    /** Every lock connection that is open, idle or not. */
    private final Set<LettuceLockConnection> locks = ConcurrentHashMap.newKeySet();
    /** So many lock connections are opened at a time, for those who still wait for them. */
    private final Semaphore opening = new Semaphore(OPENING_MAX);
    private volatile @Nullable Servers servers;
    private volatile @Nullable StatefulConnection<String, String> shared;
    private @Nullable CompletableFuture<StatefulConnection<String, String>> connecting;
    private volatile boolean closed;

    private LettuceTransport(Supplier<Servers> source) {
        this.source = source;
    }

    /** A transport to the server that the client was made for, which is not closed with this. */
    public static LettuceTransport of(RedisClient client) {
        return of(client, Servers.One.uriOf(client));
    }

    /** A transport to a server, or to the primary that sentinels name. */
    public static LettuceTransport of(RedisClient client, RedisURI uri) {
        return new LettuceTransport(() -> new Servers.One(client, uri));
    }

    /** A transport to a cluster. Let the client refresh its topology, as for any other use. */
    public static LettuceTransport of(RedisClusterClient client) {
        return new LettuceTransport(() -> new Servers.Cluster(client));
    }

    /** A transport by a client that may be another one after each {@link #reopen()}. */
    public static LettuceTransport of(Supplier<? extends AbstractRedisClient> client) {
        return new LettuceTransport(() ->
                client.get() instanceof RedisClusterClient cluster
                        ? new Servers.Cluster(cluster)
                        : one((RedisClient) client.get()));
    }

    private static Servers one(RedisClient client) {
        return new Servers.One(client, Servers.One.uriOf(client));
    }

    Servers servers() {
        if (closed) {
            throw new RedisException("the transport is closed");
        }
        Servers present = servers;
        if (present == null) {
            present = source.get();
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

    @Override
    public CompletableFuture<@Nullable Object> send(Request request, Duration timeout) {
        Wire.Sending sending = new Wire.Sending(request);
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
        Servers asked;
        CompletableFuture<StatefulConnection<String, String>> made;
        try {
            asked = servers();
            made = asked.connect();
        } catch (RuntimeException failed) {
            return CompletableFuture.failedFuture(failed);
        }
        connecting = made;
        made.whenComplete((connection, failed) -> connected(asked, made, connection));
        return made;
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

    @Override
    public LockConnection openLockConnection(String key, Duration timeout)
            throws InterruptedException {
        try {
            String server = serverOf(key, timeout);
            while (true) {
                LettuceLockConnection kept = takeIdle(server);
                if (kept == null) {
                    return open(server, timeout);
                }
                if (kept.isOpen()) {
                    return kept;
                }
            }
        } catch (RedisException | IllegalStateException failed) {
            throw SeckillException.notConnected(failed);
        }
    }

    private String serverOf(String key, Duration timeout) throws InterruptedException {
        Servers asked = servers();
        try {
            asked.known().get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            return asked.serverOf(key);
        } catch (ExecutionException | TimeoutException failed) {
            throw SeckillException.notConnected(
                    failed.getCause() == null ? failed : failed.getCause());
        }
    }

    private LettuceLockConnection open(String server, Duration timeout)
            throws InterruptedException {
        if (!opening.tryAcquire(timeout.toNanos(), TimeUnit.NANOSECONDS)) {
            throw SeckillException.notConnected(new TimeoutException());
        }
        CompletableFuture<Servers.Single> attempt = servers().connectTo(server);
        try {
            Servers.Single opened = attempt.get(timeout.toNanos(), TimeUnit.NANOSECONDS);
            LettuceLockConnection made = new LettuceLockConnection(this, server, opened);
            locks.add(made);
            if (closed || !made.isOpen()) {
                made.close();
                locks.remove(made);
            }
            return made;
        } catch (ExecutionException failed) {
            refresh();
            throw SeckillException.notConnected(failed.getCause());
        } catch (TimeoutException | InterruptedException late) {
            attempt.cancel(false);
            if (late instanceof InterruptedException interrupted) {
                throw interrupted;
            }
            throw SeckillException.notConnected(late);
        } finally {
            opening.release();
        }
    }

    private synchronized @Nullable LettuceLockConnection takeIdle(String server) {
        if (closed) {
            throw new RedisException("the transport is closed");
        }
        Deque<LettuceLockConnection> kept = idle.get(server);
        return kept == null ? null : kept.poll();
    }

    void forget(LettuceLockConnection connection) {
        locks.remove(connection);
    }

    /** False if there are enough of them. */
    synchronized boolean keep(LettuceLockConnection connection) {
        Deque<LettuceLockConnection> kept =
                idle.computeIfAbsent(connection.server(), server -> new ArrayDeque<>());
        kept.removeIf(other -> !other.isOpen());
        return !closed && kept.size() < IDLE_MAX && kept.offer(connection);
    }

    @Override
    public boolean isCluster() {
        return servers().isCluster();
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
        locks.forEach(LettuceLockConnection::close);
        if (connection != null) {
            connection.close();
        }
    }

    /** Whether connections may be opened. */
    public boolean isOpen() {
        return !closed;
    }

    /** Allows connections again after {@link #close()}, when they are needed. */
    public void reopen() {
        closed = false;
    }
}
