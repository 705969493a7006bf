#!/usr/bin/env bash
# Redisson: one process has the only permit of an RPermitExpirableSemaphore for ten minutes, a lock for as long, and the only
# one of ten minutes that an RRateLimiter allows. Another process, whose clock is eleven minutes ahead, tries the same.
# Guess: leases are counted by the server's clock, so the second gets nothing.
# Seen with Redisson 4.7.0 on Redis 7.0.15: so it is with the lock. The permit and the limit are counted by the clock of the
# client that asks: the second process gets both, and the first can no longer release what it believed it had.
# Needs libfaketime.
. "$(dirname "$0")/common.sh"
for library in /usr/lib/*/faketime/libfaketime.so.1 /usr/lib{,64}/faketime/libfaketime.so.1; do
    [ ! -e "$library" ] || break
done
[ -e "$library" ]
start redis-7.0
java_program org.redisson:redisson:4.7.0 <<'JAVA'
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RateType;
import org.redisson.config.Config;

public class Probe {
    public static void main(String[] args) throws Exception {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
        var redisson = Redisson.create(config);
        try {
            var permits = redisson.getPermitExpirableSemaphore("permits");
            if (args.length > 1) {
                System.out.println(permits.tryRelease(args[1]));
            } else {
                permits.trySetPermits(1);
                var limiter = redisson.getRateLimiter("limit");
                limiter.trySetRate(RateType.OVERALL, 1, Duration.ofMinutes(10));
                System.out.print("lock " + redisson.getLock("lock").tryLock(0, 600, TimeUnit.SECONDS));
                System.out.print(", limit " + limiter.tryAcquire());
                System.out.println(", permit " + permits.tryAcquire(0, 600, TimeUnit.SECONDS));
            }
        } finally {
            System.exit(0);
        }
    }
}
JAVA
first=$(probe "$port")
permit=${first##* }
seen "the first" "lock true, limit true, permit some" "${first/$permit/some}"
seen "a second" "lock false, limit false, permit null" "$(probe "$port")"
ahead=$(LD_PRELOAD=$library FAKETIME=+11m DONT_FAKE_MONOTONIC=1 probe "$port")
seen "one whose clock is ahead" "lock false, limit true, permit another" "$(sed -E "s/$permit/some/; s/[0-9a-f]{32}/another/" <<<"$ahead")"
seen "the first releases its permit" false "$(probe "$port" "$permit")"
verdict
