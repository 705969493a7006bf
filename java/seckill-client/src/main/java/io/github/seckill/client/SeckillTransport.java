package io.github.seckill.client;

import java.time.Duration;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Sends commands by a Redis client. {@link io.github.seckill.client.lettuce.LettuceTransport} and
 * {@link io.github.seckill.client.jedis.JedisTransport} do.
 *
 * <p>A stage that is returned here completes with what {@link Command.Reply} says, or
 * exceptionally: with the {@link SeckillException} of an error reply, or with {@link
 * SeckillException.NoAnswer} when the outcome of the command is unknown. All methods may be called
 * by any thread.
 */
public interface SeckillTransport extends AutoCloseable {
    /**
     * Sends a command. Redirections of a cluster are followed.
     *
     * @param command what to send
     * @param timeout how long to wait for the answer
     * @return its reply
     */
    CompletionStage<@Nullable Object> send(Command command, Duration timeout);

    /**
     * Opens a connection that nothing else is sent on, for a lock, or reuses one that was released.
     * It does not reconnect.
     *
     * @param key the lock, by which a cluster is routed
     * @param timeout how long opening may take
     * @return the connection
     * @throws InterruptedException if the thread was interrupted
     */
    LockConnection openLockConnection(String key, Duration timeout) throws InterruptedException;

    /**
     * Whether it talks to a cluster, where keys have hash tags.
     *
     * @return true if so
     */
    boolean isCluster();

    /**
     * Watches keys for changes by client-side caching.
     *
     * @param listener what to tell
     * @return the watch, or null when this transport can't watch keys
     */
    @Nullable StockWatch watchStocks(StockListener listener);

    /** Closes the connections that this transport has opened, and no client that it was given. */
    @Override
    void close();

    /** A connection for one lock at a time. */
    abstract class LockConnection implements AutoCloseable {
        private final Lock mutex = new ReentrantLock();
        private @Nullable Runnable listener;
        private boolean open = true;

        /** An open connection. */
        protected LockConnection() {}

        /**
         * Sends a command and waits for its reply.
         *
         * @param command what to send
         * @param timeout how long to wait for the answer; longer than the wait in line
         * @return its reply
         * @throws InterruptedException if the thread was interrupted. The connection is closed then
         */
        public abstract @Nullable Object call(Command command, Duration timeout)
                throws InterruptedException;

        /** Keeps it for a later lock, if it is open and no lock is tied to it. */
        public abstract void giveBack();

        /** Closes it, which releases a lock that is tied to it. */
        @Override
        public abstract void close();

        /**
         * Sets what is called once when the connection is lost, at once if it is no longer open.
         *
         * @param listener what to call, on a thread that must not be kept; null for nothing
         */
        public final void onLost(@Nullable Runnable listener) {
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

        /**
         * Whether commands can be sent.
         *
         * @return false once it is lost or closed
         */
        public final boolean isOpen() {
            mutex.lock();
            try {
                return open;
            } finally {
                mutex.unlock();
            }
        }

        /**
         * Ends its use by its owner, without a notification.
         *
         * @return whether it was open
         */
        protected final boolean end() {
            mutex.lock();
            try {
                boolean was = open;
                open = false;
                return was;
            } finally {
                mutex.unlock();
            }
        }

        /** Tells who wants to hear it that the connection was lost: after {@link #end()}. */
        protected final void tellLost() {
            Runnable told;
            mutex.lock();
            try {
                told = listener;
                listener = null;
            } finally {
                mutex.unlock();
            }
            if (told != null) {
                told.run();
            }
        }

        /**
         * What a command fails with whose connection was lost.
         *
         * @return an exception that says that its outcome is unknown
         */
        protected static SeckillException lost() {
            return new SeckillException.NoAnswer("NOANSWER the connection was lost", null);
        }
    }

    /** Is told what happens to watched stocks, in the order in which the server says so. */
    interface StockListener {
        /**
         * A stock has changed.
         *
         * @param key its key
         */
        void changed(String key);

        /** Anything may have changed: a connection was lost, or all keys were flushed. */
        void allChanged();
    }

    /** Watches stocks. */
    interface StockWatch extends AutoCloseable {
        /**
         * Reads a stock and watches it from that moment until it changes.
         *
         * @param key its key
         * @return the stock; null when there is none, or when it can't be watched now
         */
        CompletionStage<@Nullable Long> watch(String key);

        /** Ends all watches. */
        @Override
        void close();
    }
}
