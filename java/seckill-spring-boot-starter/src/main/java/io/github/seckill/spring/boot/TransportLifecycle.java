package io.github.seckill.spring.boot;

import io.github.seckill.client.lettuce.LettuceTransport;
import org.springframework.context.SmartLifecycle;

/**
 * Stops and starts with the application context a transport whose connection factory has another
 * client then: the contexts of tests are stopped while they wait for the next test class.
 */
record TransportLifecycle(LettuceTransport transport) implements SmartLifecycle {
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

    /** Stops after the web server and the listeners, and before the connection factory, at 0. */
    @Override
    public int getPhase() {
        return 1024;
    }
}
