package io.github.seckill.client.lettuce;

import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.codec.StringCodec;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** One server, or a primary that sentinels name. */
record OneServer(RedisClient client, @Nullable RedisURI uri) implements Servers {
    private StatefulRedisConnection<String, String> open() {
        return uri == null
                ? client.connect(StringCodec.UTF8)
                : client.connect(StringCodec.UTF8, uri);
    }

    @Override
    public StatefulConnection<String, String> connect() {
        return open();
    }

    @Override
    public CompletableFuture<Single> connectTo(String server) {
        // Lettuce connects without waiting only to a URI that is given in the call.
        return Servers.run(this::open).thenApply(connection -> new Single(connection, connection));
    }

    @Override
    public boolean isCluster() {
        return false;
    }
}
