package io.github.seckill.client.lettuce;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisException;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The one server, or those of a cluster. */
interface Servers {
    /** Opens a connection for all commands. It finds the server of each by its key. */
    StatefulConnection<String, String> connect();

    /** The server that has this key, by a name that only this object knows. */
    default String serverOf(String key) {
        return "";
    }

    /** Opens a connection to one server, without waiting for it. */
    CompletableFuture<Single> connectTo(String server);

    /** Looks up again where the keys are. */
    default void refresh() {}

    default boolean isCluster() {
        return false;
    }

    /** Runs what Lettuce can only wait for, on a thread made for it. */
    static <T> CompletableFuture<T> run(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, task -> {
            Thread thread = new Thread(task, "seckill-connect");
            thread.setDaemon(true);
            thread.start();
        });
    }

    /**
     * A connection to one server and how it is closed.
     *
     * @param connection sends
     * @param owner is closed, and the connection with it
     */
    record Single(
            StatefulRedisConnection<String, String> connection,
            StatefulConnection<String, String> owner) {}

    /** One server, or a primary that sentinels name. */
    record One(RedisClient client, @Nullable RedisURI uri) implements Servers {
        @Override
        public StatefulRedisConnection<String, String> connect() {
            return uri == null
                    ? client.connect(StringCodec.UTF8)
                    : client.connect(StringCodec.UTF8, uri);
        }

        @Override
        public CompletableFuture<Single> connectTo(String server) {
            // Lettuce connects without waiting only to a URI that is given in the call.
            return Servers.run(this::connect).thenApply(opened -> new Single(opened, opened));
        }
    }

    /** The servers of a cluster, by the ids of their nodes. */
    final class Cluster implements Servers {
        private static final long REFRESH_NANOS = TimeUnit.MILLISECONDS.toNanos(500);

        private final RedisClusterClient client;
        private final AtomicLong refreshed = new AtomicLong(System.nanoTime() - REFRESH_NANOS);

        Cluster(RedisClusterClient client) {
            this.client = client;
        }

        @Override
        public StatefulConnection<String, String> connect() {
            return client.connect(StringCodec.UTF8);
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
        public CompletableFuture<Single> connectTo(String server) {
            return client.connectAsync(StringCodec.UTF8)
                    .thenCompose(owner -> connect(owner, server));
        }

        private static CompletableFuture<Single> connect(
                StatefulRedisClusterConnection<String, String> owner, String server) {
            CompletableFuture<Single> single = owner.getConnectionAsync(server)
                    .thenApply(connection -> new Single(connection, owner));
            single.whenComplete((made, failed) -> {
                if (failed != null) {
                    owner.closeAsync();
                }
            });
            return single;
        }

        @Override
        public void refresh() {
            long last = refreshed.get();
            long now = System.nanoTime();
            if (now - last >= REFRESH_NANOS && refreshed.compareAndSet(last, now)) {
                client.refreshPartitionsAsync();
            }
        }

        @Override
        public boolean isCluster() {
            return true;
        }
    }
}
