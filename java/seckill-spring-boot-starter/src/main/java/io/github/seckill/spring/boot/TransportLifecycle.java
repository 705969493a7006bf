package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.lettuce.LettuceTransport;
import org.springframework.context.SmartLifecycle;

/**
 * Stops and starts a transport with the application context, whose connection factory has another
 * client then: those of tests are stopped while they wait for the next test class.
 */
record TransportLifecycle(LettuceTransport transport, SeckillClient client)
        implements SmartLifecycle {
    @Override
    public void start() {
        transport.reopen();
    }

    @Override
    public void stop() {
        client.releaseLocks();
        transport.close();
    }

    @Override
    public boolean isRunning() {
        return transport.isOpen();
    }

    /** Stops after the web server and the listeners, before the connection factory at 0. */
    @Override
    public int getPhase() {
        return 1024;
    }
}
