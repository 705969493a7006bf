package io.github.seckill.client;

import io.lettuce.core.*;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import java.lang.reflect.Field;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The one server, or those of a cluster. */
interface Servers {
    /** Opens a connection for all commands. It finds the server of each by its key. */
    CompletableFuture<StatefulConnection<String, String>> connect();

    /** Completes when {@link #serverOf} can answer without waiting. */
    default CompletableFuture<Void> known() {
        return CompletableFuture.completedFuture(null);
    }

    /** The server that has this key, by a name that only this object knows. */
    default String serverOf(String key) {
        return "";
    }

    /** Opens a connection to one server, without waiting for it; cancelled, it leaves none open. */
    CompletableFuture<StatefulRedisConnection<String, String>> connectTo(String server);

    /** Looks up again where the keys are. */
    default void refresh() {}

    /** A voucher that each server has which has keys, by the server's name. Nobody sells it. */
    default CompletableFuture<Map<String, String>> keysOfServers() {
        return CompletableFuture.completedFuture(Map.of("server", VOUCHER));
    }

    String VOUCHER = "seckill-health";

    /** One that is cancelled closes what comes all the same. */
    private static CompletableFuture<StatefulRedisConnection<String, String>> unlessCancelled(
            CompletionStage<StatefulRedisConnection<String, String>> opening) {
        CompletableFuture<StatefulRedisConnection<String, String>> result =
                new CompletableFuture<>();
        opening.whenComplete((made, failed) -> {
            if (failed != null) {
                result.completeExceptionally(failed);
            } else if (!result.complete(made)) {
                made.closeAsync();
            }
        });
        return result;
    }

    /**
     * How long the handshake of a connection may take: as long as connecting to the server, and no
     * shorter than a command. Lettuce takes the time-out of the address, which is that of the
     * application's commands: if it is 0, for none, connections are closed while they open.
     */
    private static Duration handshake(AbstractRedisClient client, Duration commandTimeout) {
        Duration connect = client.getOptions().getSocketOptions().getConnectTimeout();
        return connect.compareTo(commandTimeout) > 0 ? connect : commandTimeout;
    }

    /** The same address, with another time-out. */
    private static RedisURI within(Duration timeout, RedisURI uri) {
        RedisURI.Builder copy = RedisURI.builder(uri).withTimeout(timeout);
        if (uri.getSentinelMasterId() != null) {
            copy.withSentinelMasterId(uri.getSentinelMasterId());
        }
        uri.getSentinels().forEach(sentinel -> copy.withSentinel(within(timeout, sentinel)));
        return copy.build();
    }

    /** One server, or a primary that sentinels name. */
    record One(RedisClient client, RedisURI uri, Duration commandTimeout) implements Servers {
        static One of(RedisClient client, SeckillOptions options) {
            RedisURI address = options.uri == null
                    ? (RedisURI) hidden(client, RedisClient.class, "redisURI")
                    : options.uri;
            if (address == null) {
                throw new IllegalArgumentException(
                        "This version of Lettuce does not tell the client's address: say it by"
                                + " SeckillOptions.uri");
            }
            return new One(client, address, options.commandTimeout);
        }

        private ConnectionFuture<StatefulRedisConnection<String, String>> open() {
            Duration handshake = handshake(client, commandTimeout);
            return client.connectAsync(StringCodec.UTF8, within(handshake, uri));
        }

        @Override
        public CompletableFuture<StatefulConnection<String, String>> connect() {
            return open().<StatefulConnection<String, String>>thenApply(connection -> connection)
                    .toCompletableFuture();
        }

        @Override
        public CompletableFuture<StatefulRedisConnection<String, String>> connectTo(String server) {
            return unlessCancelled(open());
        }
    }

    /**
     * What a client was made with, and tells nobody: the address, which Lettuce connects to without
     * waiting only if it is given in the call. Spring Data Redis looks there, too. Null where this
     * version of Lettuce has it elsewhere.
     */
    private static @Nullable Object hidden(AbstractRedisClient client, Class<?> type, String name) {
        try {
            Field field = type.getDeclaredField(name);
            field.setAccessible(true);
            return field.get(client);
        } catch (ReflectiveOperationException | RuntimeException hidden) {
            return null;
        }
    }

    /** The servers of a cluster, by the ids of their nodes. */
    final class Cluster implements Servers {
        private static final long REFRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        private final RedisClusterClient client;
        /** Connects to one of them, whatever the others do: Lettuce begins with any of them. */
        private final RedisClient nodes;
        private final Duration commandTimeout;
        private final @Nullable String name;
        private final AtomicLong refreshed = new AtomicLong(System.nanoTime() - REFRESH_NANOS);
        private volatile boolean known;

        Cluster(RedisClusterClient client, SeckillOptions options) {
            this.client = client;
            this.commandTimeout = options.commandTimeout;
            this.nodes = RedisClient.create(client.getResources());
            nodes.setOptions(client.getOptions());
            Object seeds = hidden(client, RedisClusterClient.class, "initialUris");
            this.name = seeds instanceof Iterable<?> all
                    ? ((RedisURI) all.iterator().next()).getClientName()
                    : null;
        }

        /** Asks for the nodes, unless that was done. Lettuce connects to no cluster before. */
        @Override
        public CompletableFuture<Void> known() {
            return known ? CompletableFuture.completedFuture(null) : look();
        }

        private CompletableFuture<Void> look() {
            return client.refreshPartitionsAsync().toCompletableFuture()
                    .thenRun(() -> known = true);
        }

        @Override
        public CompletableFuture<Map<String, String>> keysOfServers() {
            return look().thenApply(nodes -> {
                Map<String, String> keys = new LinkedHashMap<>();
                for (RedisClusterNode node : client.getPartitions()) {
                    if (node.is(RedisClusterNode.NodeFlag.UPSTREAM) && !node.hasNoSlots()) {
                        String server = node.getUri().getHost() + ":" + node.getUri().getPort();
                        keys.put(server, Stream.iterate(0, i -> i + 1).map(i -> VOUCHER + i)
                                .filter(key -> node.hasSlot(SlotHash.getSlot(key))).findFirst()
                                .orElseThrow());
                    }
                }
                return keys;
            });
        }

        @Override
        public CompletableFuture<StatefulConnection<String, String>> connect() {
            return known().thenCompose(nodes -> client.connectAsync(StringCodec.UTF8))
                    .thenApply(connection -> connection);
        }

        @Override
        public String serverOf(String key) {
            int slot = SlotHash.getSlot(key);
            RedisClusterNode node = client.getPartitions().getPartitionBySlot(slot);
            if (node == null) {
                refresh();
                throw new RedisException("no node of the cluster serves this key");
            }
            return node.getNodeId();
        }

        @Override
        public CompletableFuture<StatefulRedisConnection<String, String>> connectTo(String server) {
            RedisClusterNode node = client.getPartitions().getPartitionByNodeId(server);
            if (node == null) {
                return CompletableFuture.failedFuture(new RedisException("the node is gone"));
            }
            RedisURI uri = within(handshake(nodes, commandTimeout), node.getUri());
            uri.setClientName(name);
            return unlessCancelled(nodes.connectAsync(StringCodec.UTF8, uri));
        }

        @Override
        public void refresh() {
            long last = refreshed.get();
            long now = System.nanoTime();
            if (now - last >= REFRESH_NANOS && refreshed.compareAndSet(last, now)) {
                client.refreshPartitionsAsync();
            }
        }
    }
}
