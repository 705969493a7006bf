package io.github.seckill.client;

import java.time.Duration;

/**
 * How a {@link SeckillLock} behaves. Immutable.
 *
 * @param lease how long the lock is kept if nobody renews or releases it
 * @param renew whether the lease is renewed, every third of it, for as long as the lock is held
 * @param session whether the lock is tied to the holder's connection, so that it is free at once
 *     when the holder's process ends
 * @param fenced whether each acquisition has a fencing token. Use a lock always with or always
 *     without
 */
public record LockOptions(Duration lease, boolean renew, boolean session, boolean fenced) {
    private static final LockOptions DEFAULTS =
            new LockOptions(Duration.ofSeconds(30), true, true, true);

    public LockOptions {
        Args.millis(lease, "lease");
    }

    /** A lease of 30 seconds that is renewed, tied to the connection, with fencing tokens. */
    public static LockOptions defaults() { return DEFAULTS; }

    public LockOptions lease(Duration lease) {
        return new LockOptions(lease, renew, session, fenced);
    }

    public LockOptions renew(boolean renew) {
        return new LockOptions(lease, renew, session, fenced);
    }

    public LockOptions session(boolean session) {
        return new LockOptions(lease, renew, session, fenced);
    }

    public LockOptions fenced(boolean fenced) {
        return new LockOptions(lease, renew, session, fenced);
    }
}
