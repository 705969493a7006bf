#!/usr/bin/env bash
# Spring Boot and Lettuce: commons-pool2 is on the class path, as Jedis brings it, and no property says pool. Nine threads read a
# stream each by StringRedisTemplate, with BLOCK.
# Guess: nine clients are blocked on the server, since Lettuce shares one connection and opens others where a command blocks.
# Seen with Spring Boot 3.5.16 and commons-pool2 2.12.1 on Redis 7.0.15: seven are. The library alone makes a pool of eight,
# the shared connection is one of them, each blocking command takes another, and the rest waits for ever: no error, no log.
# Without the pool nine are.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program org.springframework.boot:spring-boot-starter-data-redis:3.5.16 \
    org.apache.commons:commons-pool2:2.12.1 <<'JAVA'
import java.time.Duration;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

@EnableAutoConfiguration
public class Probe {
    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        StringRedisTemplate redis = SpringApplication.run(Probe.class, args).getBean(StringRedisTemplate.class);
        for (int i = 0; i < 9; i++) {
            StreamOffset<String> stream = StreamOffset.latest("stream" + i);
            StreamReadOptions block = StreamReadOptions.empty().block(Duration.ofSeconds(50));
            new Thread(() -> redis.opsForStream().read(block, stream)).start();
        }
        Thread.sleep(10_000);
        RedisCallback<String> blocked = server -> server.serverCommands().info("clients").getProperty("blocked_clients");
        System.out.println(redis.execute(blocked) + " blocked");
        System.exit(0);
    }
}
JAVA
words=(--spring.data.redis.port="$port" --spring.main.banner-mode=off --logging.level.root=off)
seen "nine readers, properties as they come" "7 blocked" "$(probe "${words[@]}")"
seen "nine readers, without the pool" "9 blocked" "$(probe "${words[@]}" --spring.data.redis.lettuce.pool.enabled=false)"
verdict
