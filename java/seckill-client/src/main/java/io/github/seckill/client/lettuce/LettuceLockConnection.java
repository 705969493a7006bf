package io.github.seckill.client.lettuce;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport.LockConnection;
import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import org.jspecify.annotations.Nullable;

/** A connection to one server that ends when it is lost, before Lettuce reopens it. */
final class LettuceLockConnection extends LockConnection implements RedisConnectionStateListener {
    private final LettuceTransport transport;
    private final String server;
    private final Servers.Single single;
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

    @Override
    public @Nullable Object call(Command command, Duration timeout) throws InterruptedException {
        if (!isOpen()) {
            throw lost();
        }
        CompletableFuture<@Nullable Object> reply = Wire.send(single.connection(), command, timeout);
        underWay = reply;
        if (!isOpen()) {
            // Lost meanwhile, perhaps before it was known what is under way.
            reply.completeExceptionally(lost());
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
        if (said.word().equals("MOVED") || said instanceof SeckillException.NoAnswer) {
            transport.redirected();
        }
        return said;
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
        tellLost();
    }

    @Override
    public void giveBack() {
        if (!isOpen() || !transport.keep(this)) {
            close();
        }
    }

    @Override
    public void close() {
        if (end()) {
            single.owner().close();
        }
    }
}
