package io.github.seckill.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands by a Redis client. {@link io.github.seckill.client.lettuce.LettuceTransport} does.
 *
 * <p>A stage that is returned here completes with the reply: a {@link Long}, a {@link String} (of a
 * status, too), null, or a {@link java.util.List} of these and of lists, with a {@link
 * SeckillException} instead of an element that is an error. Maps of RESP3 are lists of keys and
 * values in turn, as in RESP2. Or it completes exceptionally: with the {@link SeckillException} of
 * an error reply, or with {@link SeckillException.NoAnswer} when the outcome of the command is
 * unknown. All methods may be called by any thread.
 */
public interface SeckillTransport extends AutoCloseable {
    /**
     * Sends a command. Redirections of a cluster are followed. If the future is cancelled, what was
     * not written yet never is.
     */
    CompletableFuture<@Nullable Object> send(Request request, Duration timeout);

    /**
     * Opens a connection that nothing else is sent on, for a lock, or reuses one that was released.
     * It does not reconnect.
     *
     * @throws InterruptedException if the thread was interrupted
     */
    LockConnection openLockConnection(String key, Duration timeout) throws InterruptedException;

    /** Whether it talks to a cluster, where keys have hash tags. */
    boolean isCluster();

    /** Closes the connections that this transport has opened, and no client that it was given. */
    @Override
    void close();

    /** A connection for one lock at a time. */
    interface LockConnection extends AutoCloseable {
        /**
         * Sends a command and waits for its reply.
         *
         * @throws InterruptedException if the thread was interrupted
         */
        @Nullable Object call(Request request, Duration timeout) throws InterruptedException;

        /** Keeps it for a later lock, if it is open and no lock is tied to it. */
        void giveBack();

        /**
         * Sends a last command behind what has no answer, so that the server carries out both or
         * none, and closes the connection without waiting.
         */
        void abandon(Request last);

        /** Closes it, which releases a lock that is tied to it. */
        @Override
        void close();

        /**
         * Sets what is called once when the connection is lost, at once if it is no longer open.
         */
        void onLost(@Nullable Runnable listener);
    }
}
