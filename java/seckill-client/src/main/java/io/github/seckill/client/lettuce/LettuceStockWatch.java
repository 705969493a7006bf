package io.github.seckill.client.lettuce;

import io.github.seckill.client.SeckillTransport.StockListener;
import io.github.seckill.client.SeckillTransport.StockWatch;
import io.lettuce.core.*;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.push.PushListener;
import io.lettuce.core.api.push.PushMessage;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.*;
import io.netty.util.internal.logging.InternalLogger;
import io.netty.util.internal.logging.InternalLoggerFactory;
import java.util.List;
import java.util.Map;
import java.util.concurrent.*;
import org.jspecify.annotations.Nullable;

/**
 * Watches stocks by CLIENT TRACKING, on a connection to each server. What a server announces comes
 * on the connection that has read the key, behind the answer to that read.
 */
final class LettuceStockWatch implements StockWatch {
    /** Where Lettuce logs. */
    private static final InternalLogger LOG =
            InternalLoggerFactory.getInstance(LettuceStockWatch.class);

    private static final long ANSWER_MS = 1_000;

    private final LettuceTransport transport;
    private final StockListener listener;
    private final Map<String, CompletableFuture<Tracked>> tracked = new ConcurrentHashMap<>();

    LettuceStockWatch(LettuceTransport transport, StockListener listener) {
        this.transport = transport;
        this.listener = listener;
    }

    @Override
    public CompletionStage<@Nullable Long> watch(String key) {
        String server;
        CompletableFuture<Tracked> connected;
        try {
            Servers servers = transport.servers();
            server = servers.serverOf(key);
            connected = tracked.computeIfAbsent(
                    server, name -> servers.connectTo(name).thenApply(Tracked::new));
        } catch (RedisException | IllegalStateException nowhere) {
            return CompletableFuture.completedFuture(null);
        }
        return connected.whenComplete((connection, failed) -> {
            if (failed != null) {
                tracked.remove(server, connected);
            }
        }).thenCompose(connection -> connection.read(key));
    }

    @Override
    public void close() {
        listener.allChanged();
        for (String server : tracked.keySet()) {
            CompletableFuture<Tracked> connected = tracked.remove(server);
            if (connected != null && connected.isDone()) {
                connected.thenAccept(connection -> connection.single.owner().close());
            } else if (connected != null) {
                connected.thenAccept(connection -> connection.single.owner().closeAsync());
            }
        }
    }

    /** A connection on which every key that is read is watched. */
    private final class Tracked implements PushListener, RedisConnectionStateListener {
        private final Servers.Single single;

        /** Whether the server was told to track this connection; one value for each connecting. */
        private @Nullable CompletableFuture<?> tracking;

        private long connecting;

        Tracked(Servers.Single single) {
            this.single = single;
            single.connection().addListener((PushListener) this);
            single.connection().addListener((RedisConnectionStateListener) this);
        }

        CompletionStage<@Nullable Long> read(String key) {
            RedisAsyncCommands<String, String> commands = single.connection().async();
            CompletableFuture<?> on;
            CompletableFuture<String> stock;
            long during;
            synchronized (this) {
                during = connecting;
                if (tracking == null) {
                    // A server takes it also by a connection of RESP2, and tells that nothing.
                    CompletableFuture<Void> spoken = resp3();
                    tracking = commands.clientTracking(TrackingArgs.Builder.enabled())
                            .toCompletableFuture().thenCombine(spoken, (ok, nothing) -> ok);
                }
                on = tracking;
                // Sent behind it, on the same connection.
                stock = commands.get(key).toCompletableFuture();
            }
            return on.thenCombine(stock, (ok, value) -> value)
                    .orTimeout(ANSWER_MS, TimeUnit.MILLISECONDS)
                    .<@Nullable Long>thenApply(value ->
                            value != null && during == connecting() ? Long.valueOf(value) : null)
                    .whenComplete((value, failed) -> {
                        if (failed != null) {
                            transport.refresh();
                        }
                    });
        }

        /** Fails if the connection does not speak RESP3. */
        private CompletableFuture<Void> resp3() {
            AsyncCommand<String, String, @Nullable Object> hello = new AsyncCommand<>(new Command<>(
                    CommandType.HELLO, new ReplyOutput(), new CommandArgs<>(StringCodec.UTF8)));
            single.connection().dispatch(hello);
            return hello.thenAccept(reply -> {
                List<?> fields = reply instanceof List<?> list ? list : List.of();
                int proto = fields.indexOf("proto");
                if (proto < 0 || !fields.get(proto + 1).equals(3L)) {
                    LOG.warn("Sold out is not remembered: the connection does not speak RESP3");
                    throw new RedisException("watching stocks needs RESP3");
                }
            });
        }

        private synchronized long connecting() {
            return connecting;
        }

        @Override
        public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
            synchronized (this) {
                connecting++;
                tracking = null;
            }
            listener.allChanged();
        }

        @Override
        public void onPushMessage(PushMessage message) {
            if (!message.getType().equals("invalidate")) {
                return;
            }
            List<Object> content = message.getContent(StringCodec.UTF8::decodeKey);
            if (content.size() > 1 && content.get(1) instanceof List<?> keys) {
                keys.forEach(key -> listener.changed(String.valueOf(key)));
            } else {
                listener.allChanged();
            }
        }
    }
}
