#!/usr/bin/env bash
# A consumer gives an entry back by XNACK (Redis 8.8 and later), and a program lists what is pending by Spring Data Redis.
# Guess: the entry is listed for a consumer whose name is empty, idle for -1 ms, as the server replies it.
# Seen with Spring Boot 3.5.16 and 4.1.2 on Redis 8.10.2: the list fails as a whole, "Name must not be null", so what others
# have left behind can't be listed either while that one entry is pending; the summary and a list of one consumer work.
. "$(dirname "$0")/common.sh"
start redis-8.10
say XGROUP CREATE orders group 0 MKSTREAM >/dev/null
for id in 1 2; do say XADD orders $id-0 id $id >/dev/null; done
say XREADGROUP GROUP group worker STREAMS orders '>' >/dev/null
java_program "org.springframework.boot:spring-boot-starter-data-redis:${BOOT:-3.5.16}" <<'JAVA'
import java.util.concurrent.Callable;
import org.springframework.data.domain.Range;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.core.StringRedisTemplate;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(args[0]));
        factory.afterPropertiesSet();
        factory.start();
        var streams = new StringRedisTemplate(factory).opsForStream();
        var all = Range.<String>unbounded();
        tell("summary", () -> streams.pending("orders", "group").getTotalPendingMessages());
        tell("worker's", () -> streams.pending("orders", Consumer.from("group", "worker"), all, 9).size());
        tell("all", () -> streams.pending("orders", "group", all, 9).size());
        System.exit(0);
    }

    private static void tell(String what, Callable<?> call) {
        try {
            System.out.print("<" + what + " " + call.call() + ">");
        } catch (Exception failed) {
            Throwable root = failed;
            while (root.getCause() != null) root = root.getCause();
            System.out.print("<" + what + " " + root.getMessage() + ">");
        }
    }
}
JAVA
look() { probe "$port" | grep -o '<.*>'; }
seen "before" "<summary 2><worker's 2><all 2>" "$(look)"
seen "given back" 1 "$(say XNACK orders group FAIL IDS 1 1-0)"
seen "after" "<summary 2><worker's 1><all Name must not be null>" "$(look)"
verdict
