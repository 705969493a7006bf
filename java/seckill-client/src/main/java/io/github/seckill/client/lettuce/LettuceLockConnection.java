package io.github.seckill.client.lettuce;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport.LockConnection;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A connection to one server that ends when it is lost, before Lettuce reopens it. */
final class LettuceLockConnection implements LockConnection, RedisConnectionStateListener {
    private static final Duration LAST_WORDS = Duration.ofSeconds(1);

    private final LettuceTransport transport;
    private final String server;
    private final Servers.Single single;
    private final AtomicBoolean open = new AtomicBoolean(true);
    private final AtomicReference<@Nullable Runnable> listener = new AtomicReference<>();
    private volatile @Nullable CompletableFuture<@Nullable Object> underWay;

    LettuceLockConnection(LettuceTransport transport, String server, Servers.Single single) {
        this.transport = transport;
        this.server = server;
        this.single = single;
        single.connection().addListener(this);
        if (!single.connection().isOpen()) {
            gone();
        }
    }

    String server() {
        return server;
    }

    boolean isOpen() {
        return open.get();
    }

    @Override
    public @Nullable Object call(Request request, Duration timeout) throws InterruptedException {
        if (!isOpen()) {
            throw lost();
        }
        CompletableFuture<@Nullable Object> reply =
                Wire.send(single.connection(), request, timeout);
        underWay = reply;
        if (!isOpen()) {
            // Lost meanwhile, perhaps before it was known what is under way.
            reply.completeExceptionally(lost());
        }
        try {
            return reply.get();
        } catch (ExecutionException failed) {
            SeckillException said = Wire.failure(failed.getCause());
            if (said.word().equals("MOVED") || said instanceof SeckillException.NoAnswer) {
                transport.refresh();
            }
            throw said;
        }
    }

    private static SeckillException lost() {
        return new SeckillException.NoAnswer("NOANSWER the connection was lost", null);
    }

    @Override
    public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
        gone();
    }

    private void gone() {
        if (!open.getAndSet(false)) {
            return;
        }
        end();
        tellLost();
    }

    /** Whoever ends it: its owner forgets it, and nobody waits any longer. */
    private void end() {
        transport.forget(this);
        single.owner().closeAsync();
        CompletableFuture<@Nullable Object> unanswered = underWay;
        if (unanswered != null) {
            unanswered.completeExceptionally(lost());
        }
    }

    @Override
    public void onLost(@Nullable Runnable listener) {
        this.listener.set(listener);
        if (!isOpen()) {
            tellLost();
        }
    }

    private void tellLost() {
        Runnable told = listener.getAndSet(null);
        if (told != null) {
            told.run();
        }
    }

    @Override
    public void giveBack() {
        if (!isOpen() || !transport.keep(this)) {
            close();
        }
    }

    @Override
    public void abandon(Request last) {
        if (open.getAndSet(false)) {
            Wire.send(single.connection(), last, LAST_WORDS);
            end();
        }
    }

    @Override
    public void close() {
        if (open.getAndSet(false)) {
            end();
        }
    }
}
