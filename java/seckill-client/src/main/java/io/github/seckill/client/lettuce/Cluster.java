package io.github.seckill.client.lettuce;

import io.lettuce.core.RedisException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.SlotHash;
import io.lettuce.core.cluster.api.StatefulRedisClusterConnection;
import io.lettuce.core.cluster.models.partitions.RedisClusterNode;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

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
        RedisClusterNode node = client.getPartitions().getPartitionBySlot(SlotHash.getSlot(key));
        if (node == null) {
            refresh();
            throw new RedisException("no node of the cluster serves this key");
        }
        return node.getNodeId();
    }

    @Override
    public CompletableFuture<Single> connectTo(String server) {
        return client.connectAsync(StringCodec.UTF8).thenCompose(owner -> connect(owner, server));
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
