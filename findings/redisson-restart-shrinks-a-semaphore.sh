#!/usr/bin/env bash
# Redisson: a semaphore of ten permits, of which one is taken, a rate limiter, and a fenced lock that has given out the tokens
# 1 and 2. The server is killed and starts again without its data; the shop goes on, releases its permit, and calls
# trySetPermits(10) again, as it does at its start.
# Guess: the release is refused, as that of the lock is, or trySetPermits makes ten permits again; the limiter allows ten.
# Seen with Redisson 4.7.0 on Redis 7.0.15: the release makes a semaphore of one permit, which trySetPermits leaves as it is.
# The rate limiter throws until somebody sets its rate, and the next token of the lock is 1: a table that has seen 2
# refuses the new holder, and takes the old one's writes.
. "$(dirname "$0")/common.sh"
start redis-7.0
server=$!
java_program org.redisson:redisson:4.7.0 <<'JAVA'
import java.time.Duration;
import java.util.concurrent.Callable;
import org.redisson.Redisson;
import org.redisson.api.RateType;
import org.redisson.config.Config;

public class Probe {
    static String told(Callable<Object> call) {
        try {
            return String.valueOf(call.call());
        } catch (Exception e) {
            return e.getClass().getSimpleName();
        }
    }

    public static void main(String[] args) throws Exception {
        var config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + args[0]);
        var redisson = Redisson.create(config);
        var semaphore = redisson.getSemaphore("semaphore");
        var limiter = redisson.getRateLimiter("limiter");
        var lock = redisson.getFencedLock("lock");
        semaphore.trySetPermits(10);
        limiter.trySetRate(RateType.OVERALL, 10, Duration.ofMinutes(1));
        Callable<Object> token = lock::lockAndGetToken;
        Callable<Object> unlock = () -> {
            lock.unlock();
            return "unlocked";
        };
        System.out.print("token " + told(token) + ", " + told(unlock) + ", token " + told(token));
        System.out.println(", permit " + told(semaphore::tryAcquire) + ", limit " + told(limiter::tryAcquire));
        System.in.read();
        while (told(semaphore::availablePermits).contains("Exception")) {
            Thread.sleep(100);
        }
        System.out.print(told(unlock) + ", token " + told(token) + ", limit " + told(limiter::tryAcquire));
        semaphore.release();
        System.out.print(", trySetPermits " + told(() -> semaphore.trySetPermits(10)));
        System.out.println(", permits " + told(semaphore::availablePermits));
        System.exit(0);
    }
}
JAVA
: >"$folder/told"
exec 3> >(java -cp "$folder/java:$(cat "$folder/java/cp")" Probe "$port" >"$folder/told" 2>/dev/null)
client=$!
until [ "$(wc -l <"$folder/told")" = 1 ]; do kill -0 $client && sleep 0.1; done
kill -9 $server
wait $server 2>/dev/null || true
redis-server --port "$port" --bind 127.0.0.1 --dir "$folder/$port" --save "" >/dev/null 2>&1 3>&- &
pids+=($!)
until [ "$(say PING 2>/dev/null)" = PONG ]; do sleep 0.1; done
exec 3>&-
wait $client
seen "before" "token 1, unlocked, token 2, permit true, limit true" "$(head -1 "$folder/told")"
seen "after" "IllegalMonitorStateException, token 1, limit RedisException, trySetPermits false, permits 1" "$(tail -1 "$folder/told")"
verdict
