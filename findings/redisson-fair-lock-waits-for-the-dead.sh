#!/usr/bin/env bash
# Redisson: of two processes one holds a fair lock, and the other, which waits for it in line, is killed. The lock is
# released.
# Guess: the next one has it at once, or after the 5 seconds for each dead waiter of the documentation.
# Seen with Redisson 4.7.0 on Redis 7.0.15, all options as they come: the lock is free, and nobody gets it. The dead waiter
# keeps its place for five minutes and the lease that the holder had when it came; tryLock() is false, and tryLock of 20
# seconds too. With fairLockWaitTimeout of 1 second and leases of 10 seconds the next one has the lock.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program org.redisson:redisson:4.7.0 <<'JAVA'
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.config.Config;

public class Probe {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        if (args.length > 2) {
            config.setFairLockWaitTimeout(1000);
            config.setLockWatchdogTimeout(10_000);
        }
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
        RLock lock = Redisson.create(config).getFairLock("lock");
        try {
            if (args[1].equals("waits")) {
                lock.lock();
            } else if (args[1].equals("holds")) {
                lock.lock();
                System.out.println("holds");
                System.in.read();
                lock.unlock();
            } else {
                System.out.println(lock.tryLock() + ", " + lock.tryLock(20, TimeUnit.SECONDS));
            }
        } finally {
            System.exit(0);
        }
    }
}
JAVA
java=(java -cp "$folder/java:$(cat "$folder/java/cp")" Probe "$port")
next() { # options of all: what the next one is told, once the lock is free
    say FLUSHALL >/dev/null
    : >"$folder/held"
    exec 3> >("${java[@]}" holds "$@" >"$folder/held" 2>/dev/null)
    local holder=$! waiter
    until grep -q holds "$folder/held"; do sleep 0.1; done
    "${java[@]}" waits "$@" >/dev/null 2>&1 3>&- &
    waiter=$!
    until [ "$(say LLEN 'redisson_lock_queue:{lock}')" = 1 ]; do sleep 0.1; done
    local came
    came=$(say ZRANGE 'redisson_lock_timeout:{lock}' 0 -1 WITHSCORES | awk '{ print $2 }')
    echo $(((came - $(date +%s%3N)) / 60000)) >"$folder/minutes"
    kill -9 $waiter
    wait $waiter 2>/dev/null || true
    exec 3>&-
    wait "$holder"
    [ "$(say EXISTS lock)" = 0 ] || echo "still held, "
    probe "$port" next "$@"
}
seen "the next one, of a free lock" "false, false" "$(next)"
seen "minutes that the dead waiter keeps its place" 5 "$(cat "$folder/minutes")"
told=$(next short)
seen "tryLock of 20 seconds, with short times" true "${told#*, }"
verdict
