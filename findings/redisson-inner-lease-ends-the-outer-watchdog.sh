#!/usr/bin/env bash
# Redisson: a method holds lock(), which a watchdog renews, and calls another that takes the same lock by lock(2, SECONDS)
# and unlocks it, as RLock is re-entrant.
# Guess: the watchdog goes on until the outer unlock(), or at least the holder is told.
# Seen with Redisson 4.7.0 on Redis 7.0.15, lockWatchdogTimeout 3 seconds: the inner unlock() ends the watchdog, and leaves
# the lock a lease of 2 seconds. Then another client has it, while the outer method works, and its unlock() throws.
# With lock() inside, or nothing, it is held.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program org.redisson:redisson:4.7.0 <<'JAVA'
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Probe {
    static RedissonClient client(String port) {
        var config = new Config();
        config.setLockWatchdogTimeout(3000);
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port);
        return Redisson.create(config);
    }

    public static void main(String[] args) throws Exception {
        RLock lock = client(args[0]).getLock(args[1]);
        lock.lock();
        if (args[1].equals("lease")) {
            lock.lock(2, TimeUnit.SECONDS);
            lock.unlock();
        } else if (args[1].equals("none")) {
            lock.lock();
            lock.unlock();
        }
        Thread.sleep(5000);
        System.out.print("another gets it: " + client(args[0]).getLock(args[1]).tryLock());
        try {
            lock.unlock();
            System.out.println(", unlocked");
        } catch (IllegalMonitorStateException lost) {
            System.out.println(", " + lost.getClass().getSimpleName());
        }
        System.exit(0);
    }
}
JAVA
seen "after an inner lock with a lease" "another gets it: true, IllegalMonitorStateException" "$(probe "$port" lease)"
seen "after an inner lock without one" "another gets it: false, unlocked" "$(probe "$port" none)"
seen "without an inner lock" "another gets it: false, unlocked" "$(probe "$port" alone)"
verdict
