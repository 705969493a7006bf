package io.github.seckill.spring.boot;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillTransport;
import java.time.Duration;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Closes what it sends by, too.
 *
 * @param transport sends
 * @param owned is closed after it
 */
record OwningTransport(SeckillTransport transport, AutoCloseable owned)
        implements SeckillTransport {
    @Override
    public CompletionStage<@Nullable Object> send(Command command, Duration timeout) {
        return transport.send(command, timeout);
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
    public @Nullable StockWatch watchStocks(StockListener listener) {
        return transport.watchStocks(listener);
    }

    @Override
    public void close() {
        transport.close();
        try {
            owned.close();
        } catch (Exception failed) {
            throw new IllegalStateException("the connections could not be closed", failed);
        }
    }
}
