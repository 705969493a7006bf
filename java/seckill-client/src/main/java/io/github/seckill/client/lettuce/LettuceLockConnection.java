package io.github.seckill.client.lettuce;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport.LockConnection;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** A connection to one server that ends when it is lost, before Lettuce reopens it. */
final class LettuceLockConnection implements LockConnection, RedisConnectionStateListener {
    private static final Duration LAST_WORDS = Duration.ofSeconds(1);

    private final LettuceTransport transport;
    private final String server;
    private final Servers.Single single;
    private final Lock mutex = new ReentrantLock();
    private volatile @Nullable CompletableFuture<@Nullable Object> underWay;
    private volatile boolean open = true;
    private @Nullable Runnable listener;

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
        return open;
    }

    @Override
    public @Nullable Object call(Request request, Duration timeout) throws InterruptedException {
        if (!open) {
            throw lost();
        }
        CompletableFuture<@Nullable Object> reply =
                Wire.send(single.connection(), request, timeout);
        underWay = reply;
        if (!open) {
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
        if (!end()) {
            return;
        }
        single.owner().closeAsync();
        CompletableFuture<@Nullable Object> unanswered = underWay;
        if (unanswered != null) {
            unanswered.completeExceptionally(lost());
        }
        onLost(listener);
    }

    @Override
    public void onLost(@Nullable Runnable listener) {
        mutex.lock();
        try {
            this.listener = open ? listener : null;
            if (open) {
                return;
            }
        } finally {
            mutex.unlock();
        }
        if (listener != null) {
            listener.run();
        }
    }

    /** Ends its use, and says whether it was open. */
    private boolean end() {
        mutex.lock();
        try {
            boolean was = open;
            open = false;
            return was;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void giveBack() {
        if (!open || !transport.keep(this)) {
            close();
        }
    }

    @Override
    public void abandon(Request last) {
        if (end()) {
            Wire.send(single.connection(), last, LAST_WORDS);
            single.owner().closeAsync();
        }
    }

    @Override
    public void close() {
        if (end()) {
            single.owner().close();
        }
    }
}
