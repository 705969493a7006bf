package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillTransport;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.boot.LifecycleTransport.Opened;
import io.lettuce.core.AbstractRedisClient;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import java.time.Duration;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.util.ClassUtils;

/** Makes a transport of whatever the application connects by. */
final class Transports {
    private static final Duration TIMEOUT_UNKNOWN = Duration.ofSeconds(2);

    private Transports() {}

    /** Over the factory's native Lettuce client, or over a pool with its settings for Jedis. */
    static LifecycleTransport over(RedisConnectionFactory factory) {
        return new LifecycleTransport(() -> open(factory));
    }

    private static Opened open(RedisConnectionFactory factory) {
        if (isPresent("io.lettuce.core.RedisClient")
                && factory instanceof LettuceConnectionFactory lettuce) {
            return new Opened(Lettuce.over(lettuce), null);
        }
        if (isPresent("redis.clients.jedis.Jedis")
                && factory instanceof JedisConnectionFactory jedis) {
            return JedisSettings.open(jedis);
        }
        throw new IllegalStateException(
                "Define a bean of type SeckillTransport: there is none for "
                        + factory.getClass().getName());
    }

    /** How long the factory's connections wait for an answer. */
    static Duration timeoutOf(RedisConnectionFactory factory) {
        if (isPresent("io.lettuce.core.RedisClient")
                && factory instanceof LettuceConnectionFactory lettuce) {
            return Duration.ofMillis(lettuce.getTimeout());
        }
        if (isPresent("redis.clients.jedis.Jedis")
                && factory instanceof JedisConnectionFactory jedis) {
            return Duration.ofMillis(jedis.getTimeout());
        }
        return TIMEOUT_UNKNOWN;
    }

    private static boolean isPresent(String type) {
        return ClassUtils.isPresent(type, Transports.class.getClassLoader());
    }

    /** Loaded only where there is Lettuce. */
    private static final class Lettuce {
        private Lettuce() {}

        static SeckillTransport over(LettuceConnectionFactory factory) {
            AbstractRedisClient client = factory.getRequiredNativeClient();
            if (client instanceof RedisClusterClient cluster) {
                return LettuceTransport.of(cluster);
            }
            return LettuceTransport.of((RedisClient) client);
        }
    }
}
