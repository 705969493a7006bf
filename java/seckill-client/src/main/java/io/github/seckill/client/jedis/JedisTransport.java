package io.github.seckill.client.jedis;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.Connection;
import redis.clients.jedis.exceptions.JedisAskDataException;
import redis.clients.jedis.exceptions.JedisConnectionException;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.exceptions.JedisMovedDataException;
import redis.clients.jedis.Protocol;
import redis.clients.jedis.providers.ClusterConnectionProvider;
import redis.clients.jedis.providers.ConnectionProvider;
import redis.clients.jedis.util.JedisClusterCRC16;

/**
 * Sends by Jedis, over the connections of a provider such as {@link
 * redis.clients.jedis.providers.PooledConnectionProvider} or {@link ClusterConnectionProvider}.
 * RESP2 and RESP3, whichever they speak.
 *
 * <p>Jedis waits for each answer, so this has threads of its own, as many as commands may be under
 * way at the same time. The provider's pools should have as many connections, and one more for each
 * holder of a lock and each waiter. A connection of Jedis that is lost is noticed when it is used
 * next: so is a lock that is tied to it. How long opening a connection may take is what the
 * provider's configuration says. Stocks can't be watched.
 */
public final class JedisTransport implements SeckillTransport {
    private static final int REDIRECTIONS_MAX = 5;

    private final ConnectionProvider connections;
    private final ExecutorService threads;

    private JedisTransport(ConnectionProvider connections, int threads) {
        this.connections = connections;
        AtomicInteger number = new AtomicInteger();
        this.threads =
                Executors.newFixedThreadPool(
                        threads,
                        work -> {
                            Thread thread =
                                    new Thread(work, "seckill-jedis-" + number.incrementAndGet());
                            thread.setDaemon(true);
                            return thread;
                        });
    }

    /**
     * A transport over the connections of a provider.
     *
     * @param connections gives connections to a server or a cluster. It is not closed with this
     * @param commandsAtOnce how many commands may be under way at the same time, besides locks
     * @return the transport
     */
    public static JedisTransport of(ConnectionProvider connections, int commandsAtOnce) {
        return new JedisTransport(connections, commandsAtOnce);
    }

    @Override
    public CompletionStage<@Nullable Object> send(Command command, Duration timeout) {
        try {
            return CompletableFuture.supplyAsync(() -> sendNow(command, timeout), threads);
        } catch (RejectedExecutionException closed) {
            return CompletableFuture.failedFuture(SeckillException.notConnected(closed));
        }
    }

    private @Nullable Object sendNow(Command command, Duration timeout) {
        Connection connection = connect(command.key());
        boolean asking = false;
        for (int redirections = 0; ; redirections++) {
            try (Connection used = connection) {
                if (asking) {
                    used.executeCommand(Protocol.Command.ASKING);
                }
                return Wire.call(used, command, timeout);
            } catch (JedisMovedDataException moved) {
                tooMany(redirections, moved);
                renewSlots();
                connection = connectTo(moved.getTargetNode());
                asking = false;
            } catch (JedisAskDataException ask) {
                tooMany(redirections, ask);
                connection = connectTo(ask.getTargetNode());
                asking = true;
            } catch (JedisException failed) {
                if (failed instanceof JedisConnectionException) {
                    renewSlots();
                }
                throw Wire.failure(failed);
            }
        }
    }

    private static void tooMany(int redirections, JedisDataException last) {
        if (redirections == REDIRECTIONS_MAX) {
            throw SeckillException.of(last.getMessage(), last);
        }
    }

    /** A connection to the server that has this key. */
    private Connection connect(String key) {
        try {
            return connections instanceof ClusterConnectionProvider cluster
                    ? cluster.getConnectionFromSlot(JedisClusterCRC16.getSlot(key))
                    : connections.getConnection();
        } catch (JedisException failed) {
            renewSlots();
            throw SeckillException.notConnected(failed);
        }
    }

    private Connection connectTo(redis.clients.jedis.HostAndPort node) {
        try {
            return ((ClusterConnectionProvider) connections).getConnection(node);
        } catch (JedisException failed) {
            throw SeckillException.notConnected(failed);
        }
    }

    /** Looks up again where the keys are. If that fails, the next command finds out. */
    private void renewSlots() {
        if (connections instanceof ClusterConnectionProvider cluster) {
            try {
                cluster.renewSlotCache();
            } catch (JedisException unanswered) {
                // As it was.
            }
        }
    }

    @Override
    public LockConnection openLockConnection(String key, Duration timeout) {
        return new JedisLockConnection(connect(key), this::renewSlots);
    }

    @Override
    public boolean isCluster() {
        return connections instanceof ClusterConnectionProvider;
    }

    @Override
    public @Nullable StockWatch watchStocks(StockListener listener) {
        return null;
    }

    @Override
    public void close() {
        threads.shutdownNow();
    }
}
