package io.github.seckill.client;

import io.lettuce.core.RedisChannelHandler;
import io.lettuce.core.RedisConnectionStateListener;
import io.lettuce.core.api.StatefulRedisConnection;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** A connection for one lock at a time, which ends when it is lost, before Lettuce reopens it. */
final class LockConnection implements AutoCloseable, RedisConnectionStateListener {
    private static final Duration LAST_WORDS = Duration.ofSeconds(1);

    private final Connections connections;
    private final String server;
    private final StatefulRedisConnection<String, String> lettuce;
    private final AtomicBoolean open = new AtomicBoolean(true);
    private final AtomicReference<@Nullable Runnable> listener = new AtomicReference<>();
    private volatile @Nullable CompletableFuture<@Nullable Object> underWay;

    LockConnection(
            Connections connections, String server,
            StatefulRedisConnection<String, String> lettuce) {
        this.connections = connections;
        this.server = server;
        this.lettuce = lettuce;
        lettuce.addListener(this);
        if (!lettuce.isOpen()) {
            gone();
        }
    }

    boolean isOpen() {
        return open.get();
    }

    /** Sends a command and waits for its reply. */
    <T> T call(Call<T> call, Duration timeout) throws InterruptedException {
        if (!isOpen()) {
            throw lost();
        }
        Wire.Sending reply = new Wire.Sending(call);
        reply.dispatch(lettuce, timeout);
        underWay = reply;
        if (!isOpen()) {
            // Lost meanwhile, perhaps before it was known what is under way.
            reply.completeExceptionally(lost());
        }
        try {
            return call.read(reply.get());
        } catch (ExecutionException failed) {
            SeckillException said = SeckillException.of(failed.getCause());
            boolean silent = said instanceof SeckillException.NoAnswer;
            if (silent) {
                connections.closeIdle(server);
            }
            if (silent || said.word().equals("MOVED")) {
                connections.refresh();
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
        connections.forget(this);
        lettuce.closeAsync();
        CompletableFuture<@Nullable Object> unanswered = underWay;
        if (unanswered != null) {
            unanswered.completeExceptionally(lost());
        }
    }

    /** Sets what is called once when it is lost, at once if it is no longer open. */
    void onLost(@Nullable Runnable listener) {
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

    /** Keeps it for a later lock, if it is open and no lock is tied to it. */
    void giveBack() {
        if (!isOpen() || !connections.keep(server, this)) {
            close();
        }
    }

    /**
     * Sends a last command behind what has no answer, so that the server carries out both or none,
     * and closes it without waiting.
     */
    void abandon(Call<?> last) {
        if (open.getAndSet(false)) {
            new Wire.Sending(last).dispatch(lettuce, LAST_WORDS);
            end();
        }
    }

    /** Closes it, which releases a lock that is tied to it. */
    @Override
    public void close() {
        if (open.getAndSet(false)) {
            end();
        }
    }
}
