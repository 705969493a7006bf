package shop.commands;

import java.time.Duration;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.context.annotation.Profile;
import org.springframework.data.redis.connection.lettuce.LettuceClientConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.stereotype.Component;

/**
 * Locks that are waited for in line.
 *
 * <p>All threads share one connection of the application's factory, and all that is sent after
 * LOCK.ACQUIRE .. WAIT would stand in line behind it. So there is a factory that opens a connection
 * for each waiter, with a time-out longer than any wait.
 *
 * <p>A lock of Redisson is a hash, not a string: here it is refused as WRONGTYPE. Move all who use
 * a lock at once.
 */
@Component
@Profile("commands")
class Locks implements DisposableBean {
    private final LettuceConnectionFactory connections;
    private final Seckill seckill;

    Locks(LettuceConnectionFactory application) {
        var patient =
                LettuceClientConfiguration.builder().commandTimeout(Duration.ofSeconds(10)).build();
        connections =
                new LettuceConnectionFactory(application.getStandaloneConfiguration(), patient);
        connections.setShareNativeConnection(false);
        connections.afterPropertiesSet();
        connections.start();
        seckill = new Seckill(connections);
    }

    /** The fencing token, or 0 when somebody else holds the lock until the wait is over. */
    long acquire(String key, String token, Duration lease, Duration wait) {
        String leaseMs = String.valueOf(lease.toMillis());
        String waitMs = String.valueOf(wait.toMillis());
        return seckill.integer("LOCK.ACQUIRE", key, token, leaseMs, "WAIT", waitMs, "FENCE");
    }

    boolean release(String key, String token) {
        return seckill.integer("LOCK.RELEASE", key, token) == 1;
    }

    @Override
    public void destroy() {
        connections.destroy();
    }
}
