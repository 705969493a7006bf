package io.github.seckill.spring;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillLock;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * A {@link LockRegistry} of Spring Integration whose locks are {@link SeckillLock}s: between
 * processes, waited for in the server's line. The client knows who holds what by key and thread, so
 * nothing is kept here, and nothing has to expire.
 */
@SuppressWarnings("rawtypes") // A type parameter was added in Spring Integration 7.
public record SeckillLockRegistry(SeckillClient client, String prefix)
        implements LockRegistry {
    @Override
    public SeckillLock obtain(Object lockKey) {
        return client.lock(prefix + lockKey);
    }
}
