package io.github.seckill.spring.boot;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.locks.Lock;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * Sends by the connection factory's client, which is another one after each stop and start of the
 * application context: those of tests are stopped while they wait for the next test class.
 */
final class LifecycleTransport implements SeckillTransport, SmartLifecycle {
    /** Stops after the web server and the listeners, and before the connection factory, at 0. */
    private static final int PHASE = 1024;

    private final Supplier<SeckillTransport> open;

    /** Held while connections are opened: no monitor, which would pin a virtual thread. */
    private final Lock mutex = new ReentrantLock();

    private volatile @Nullable SeckillTransport opened;
    private volatile boolean running;
    private boolean stopped;

    LifecycleTransport(Supplier<SeckillTransport> open) {
        this.open = open;
    }

    private SeckillTransport current() {
        SeckillTransport present = opened;
        return present == null ? openOnce() : present;
    }

    private SeckillTransport openOnce() {
        mutex.lock();
        try {
            if (stopped) {
                throw new IllegalStateException("the application context is stopped");
            }
            SeckillTransport present = opened;
            if (present == null) {
                present = open.get();
                opened = present;
            }
            return present;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public CompletionStage<@Nullable Object> send(Request request, Duration timeout) {
        SeckillTransport transport;
        try {
            transport = current();
        } catch (IllegalStateException stopped) {
            return CompletableFuture.failedFuture(SeckillException.notConnected(stopped));
        }
        return transport.send(request, timeout);
    }

    @Override
    public LockConnection openLockConnection(String key, Duration timeout)
            throws InterruptedException {
        SeckillTransport transport;
        try {
            transport = current();
        } catch (IllegalStateException stopped) {
            throw SeckillException.notConnected(stopped);
        }
        return transport.openLockConnection(key, timeout);
    }

    @Override
    public boolean isCluster() {
        return current().isCluster();
    }

    @Override
    public @Nullable StockWatch watchStocks(StockListener listener) {
        StockWatch first = current().watchStocks(listener);
        return first == null ? null : new Watch(listener, current(), first);
    }

    @Override
    public void start() {
        mutex.lock();
        try {
            running = true;
            stopped = false;
        } finally {
            mutex.unlock();
        }
    }

    @Override
    public void stop() {
        SeckillTransport present;
        mutex.lock();
        try {
            running = false;
            stopped = true;
            present = opened;
            opened = null;
        } finally {
            mutex.unlock();
        }
        // Not with the lock: closing waits for threads of the client, and they ask for it.
        if (present != null) {
            present.close();
        }
    }

    @Override
    public boolean isRunning() {
        return running;
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** The client closes it, and then the application context does. */
    @Override
    public void close() {
        stop();
    }

    /** Watches by whichever transport there is at the moment. */
    private final class Watch implements StockWatch {
        private final StockListener listener;
        private SeckillTransport transport;
        private StockWatch watch;
        private boolean ended;

        private Watch(StockListener listener, SeckillTransport transport, StockWatch watch) {
            this.listener = listener;
            this.transport = transport;
            this.watch = watch;
        }

        @Override
        public CompletionStage<@Nullable Long> watch(String key) {
            StockWatch now = now();
            return now == null ? CompletableFuture.completedFuture(null) : now.watch(key);
        }

        private @Nullable StockWatch now() {
            SeckillTransport present;
            try {
                present = current();
            } catch (IllegalStateException stopped) {
                return null;
            }
            mutex.lock();
            try {
                if (ended) {
                    return null;
                }
                if (present != transport) {
                    StockWatch renewed = present.watchStocks(listener);
                    if (renewed == null) {
                        return null;
                    }
                    listener.allChanged();
                    transport = present;
                    watch = renewed;
                }
                return watch;
            } finally {
                mutex.unlock();
            }
        }

        @Override
        public void close() {
            StockWatch last;
            mutex.lock();
            try {
                ended = true;
                last = watch;
            } finally {
                mutex.unlock();
            }
            last.close();
        }
    }
}
