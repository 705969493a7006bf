package io.github.seckill.client.lettuce;

import io.lettuce.core.*;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
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

    /** Opens a connection to one server, without waiting for it; cancelled, it leaves none open. */
    CompletableFuture<Single> connectTo(String server);

    /** Looks up again where the keys are. */
    default void refresh() {}

    default boolean isCluster() {
        return false;
    }

    /** What makes the connections. */
    AbstractRedisClient client();

    /** Runs what Lettuce can only wait for, unless nobody waits for it any more. */
    static <C> CompletableFuture<C> run(Supplier<C> work, Consumer<C> close) {
        CompletableFuture<C> result = new CompletableFuture<>();
        Connecting.THREADS.execute(() -> {
            try {
                if (!result.isDone()) {
                    handOver(work.get(), result, close);
                }
            } catch (RuntimeException | Error failed) {
                result.completeExceptionally(failed);
            }
        });
        return result;
    }

    /** Closes what comes too late for whoever has asked for it. */
    private static <C> void handOver(C made, CompletableFuture<C> result, Consumer<C> close) {
        if (!result.complete(made)) {
            close.accept(made);
        }
    }

    /** A server that is down keeps so many threads busy, however many wait for it. */
    final class Connecting {
        private static final int MAX = 16;
        private static final ThreadPoolExecutor THREADS = new ThreadPoolExecutor(
                MAX, MAX, 10, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), task -> {
                    Thread thread = new Thread(task, "seckill-connect");
                    thread.setDaemon(true);
                    return thread;
                });

        static {
            THREADS.allowCoreThreadTimeOut(true);
        }

        private Connecting() {}
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
            return Servers.run(
                    () -> {
                        StatefulRedisConnection<String, String> opened = connect();
                        return new Single(opened, opened);
                    },
                    late -> late.owner().closeAsync());
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
            CompletableFuture<Single> result = new CompletableFuture<>();
            client.connectAsync(StringCodec.UTF8)
                    .thenCompose(owner -> connect(owner, server))
                    .whenComplete((made, failed) -> {
                        if (failed != null) {
                            result.completeExceptionally(failed);
                        } else {
                            handOver(made, result, late -> late.owner().closeAsync());
                        }
                    });
            return result;
        }

        @Override
        public AbstractRedisClient client() {
            return client;
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
