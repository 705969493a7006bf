package io.github.seckill.spring;

import io.github.seckill.client.LockOptions;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillLock;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * A {@link LockRegistry} of Spring Integration whose locks are {@link SeckillLock}s: between
 * processes, waited for in the server's line. The client knows who holds what by key and thread, so
 * nothing is kept here, and nothing has to expire.
 */
@SuppressWarnings("rawtypes") // A type parameter was added in Spring Integration 7.
public final class SeckillLockRegistry implements LockRegistry {
    private final SeckillClient client;
    private final String prefix;
    private final LockOptions options;

    public SeckillLockRegistry(SeckillClient client, String prefix, LockOptions options) {
        this.client = client;
        this.prefix = prefix;
        this.options = options;
    }

    @Override
    public SeckillLock obtain(Object lockKey) {
        return client.lock(prefix + lockKey, options);
    }
}
