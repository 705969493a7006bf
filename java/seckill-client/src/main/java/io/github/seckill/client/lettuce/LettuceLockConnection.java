package io.github.seckill.client.lettuce;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport.LockConnection;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A connection to one server that ends when it is lost, before Lettuce opens it anew. */
final class LettuceLockConnection implements LockConnection, RedisConnectionStateListener {
    private final LettuceTransport transport;
    private final String server;
    private final Servers.Single single;
    private @Nullable Consumer<LockConnection> listener;
    private @Nullable CompletableFuture<@Nullable Object> underWay;
    private boolean open = true;

    LettuceLockConnection(LettuceTransport transport, String server, Servers.Single single) {
        this.transport = transport;
        this.server = server;
        this.single = single;
        single.connection().addListener(this);
        if (!single.connection().isOpen()) {
            lost();
        }
    }

    String server() {
        return server;
    }

    @Override
    public @Nullable Object call(Command command, Duration timeout) throws InterruptedException {
        CompletableFuture<@Nullable Object> reply;
        synchronized (this) {
            if (!open) {
                throw new SeckillException.NoAnswer("NOANSWER the connection was lost", null);
            }
            reply = Wire.send(single.connection(), command, timeout);
            underWay = reply;
        }
        try {
            return reply.get();
        } catch (ExecutionException failed) {
            throw redirected(Wire.failure(failed.getCause()));
        } catch (InterruptedException interrupted) {
            close();
            throw interrupted;
        }
    }

    private SeckillException redirected(SeckillException said) {
        if (said.code().equals("MOVED") || said instanceof SeckillException.NoAnswer) {
            transport.redirected();
        }
        return said;
    }

    @Override
    public void onLost(@Nullable Consumer<LockConnection> listener) {
        synchronized (this) {
            this.listener = listener;
            if (open) {
                return;
            }
        }
        if (listener != null) {
            listener.accept(this);
        }
    }

    @Override
    public synchronized boolean isOpen() {
        return open;
    }

    @Override
    public void onRedisDisconnected(RedisChannelHandler<?, ?> connection) {
        lost();
    }

    private void lost() {
        Consumer<LockConnection> told;
        CompletableFuture<@Nullable Object> unanswered;
        synchronized (this) {
            if (!open) {
                return;
            }
            open = false;
            told = listener;
            unanswered = underWay;
        }
        single.owner().closeAsync();
        if (unanswered != null) {
            unanswered.completeExceptionally(
                    new SeckillException.NoAnswer("NOANSWER the connection was lost", null));
        }
        if (told != null) {
            told.accept(this);
        }
    }

    @Override
    public void giveBack() {
        if (!isOpen() || !transport.keep(this)) {
            close();
        }
    }

    @Override
    public void close() {
        synchronized (this) {
            if (!open) {
                return;
            }
            open = false;
            listener = null;
        }
        single.owner().close();
    }
}
