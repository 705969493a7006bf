package io.github.seckill.spring.boot;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillTransport;
import io.github.seckill.client.lettuce.LettuceTransport;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;

/**
 * Sends by the connection factory's client, which is another one after each stop and start of the
 * application context: those of tests are stopped while they wait for the next test class.
 */
record LifecycleTransport(LettuceTransport transport) implements SeckillTransport, SmartLifecycle {
    /** Stops after the web server and the listeners, and before the connection factory, at 0. */
    private static final int PHASE = 1024;

    @Override
    public CompletionStage<@Nullable Object> send(Request request, Duration timeout) {
        return transport.send(request, timeout);
    }

    @Override
    public LockConnection openLockConnection(String key, Duration timeout)
            throws InterruptedException {
        return transport.openLockConnection(key, timeout);
    }

    @Override
    public boolean isCluster() {
        return transport.isCluster();
    }

    @Override
    public StockWatch watchStocks(StockListener listener) {
        return transport.watchStocks(listener);
    }

    @Override
    public void start() {
        transport.reopen();
    }

    @Override
    public void stop() {
        transport.close();
    }

    @Override
    public boolean isRunning() {
        return transport.isOpen();
    }

    @Override
    public int getPhase() {
        return PHASE;
    }

    /** The client closes it, and then the application context does. */
    @Override
    public void close() {
        transport.close();
    }
}
