package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillTransport;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;

/** Makes a transport of whatever the application connects by. */
final class Transports {
    private static final Duration TIMEOUT_UNKNOWN = Duration.ofSeconds(2);
    static final boolean LETTUCE =
            ClassUtils.isPresent("io.lettuce.core.RedisClient", Transports.class.getClassLoader());

    private Transports() {}

    /** Over the factory's native Lettuce client. */
    static SeckillTransport over(RedisConnectionFactory factory) {
        if (LETTUCE && factory instanceof LettuceConnectionFactory lettuce) {
            return Lettuce.over(lettuce);
        }
        throw new ConnectionChoice.Unclear(
                "The seckill starter needs Lettuce, and the connection factory is a "
                        + factory.getClass().getName() + ".",
                "Remove spring.data.redis.client-type=jedis, or define a bean of type"
                        + " SeckillTransport, or set seckill.enabled=false.");
    }

    static @Nullable Lifecycle lifecycleOf(SeckillTransport transport, SeckillClient client) {
        return LETTUCE && transport instanceof LettuceTransport lettuce
                ? new Lifecycle(lettuce, client)
                : null;
    }

    /** How long the factory's connections wait for an answer. */
    static Duration timeoutOf(RedisConnectionFactory factory) {
        return LETTUCE && factory instanceof LettuceConnectionFactory lettuce
                ? Duration.ofMillis(lettuce.getTimeout())
                : TIMEOUT_UNKNOWN;
    }

    /** Loaded only where there is Lettuce. */
    private static final class Lettuce {
        static SeckillTransport over(LettuceConnectionFactory factory) {
            return LettuceTransport.of(factory::getRequiredNativeClient);
        }
    }

    /**
     * Stops and starts a transport with the application context, whose connection factory has
     * another client then: those of tests are stopped while they wait for the next test class.
     */
    record Lifecycle(LettuceTransport transport, SeckillClient client) implements SmartLifecycle {
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
}
