package shop.scripts;

import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/** Ids that grow: seconds since 2022, then the counter of the day. */
@Component
class RedisIdWorker {
    private static final long EPOCH = Instant.parse("2022-01-01T00:00:00Z").getEpochSecond();
    private static final DateTimeFormatter DAY = DateTimeFormatter.ofPattern("yyyy:MM:dd");

    private final StringRedisTemplate redis;

    RedisIdWorker(StringRedisTemplate redis) {
        this.redis = redis;
    }

    long nextId(String prefix) {
        long seconds = Instant.now().getEpochSecond() - EPOCH;
        String day = LocalDate.now(ZoneOffset.UTC).format(DAY);
        Long count = redis.opsForValue().increment("icr:" + prefix + ":" + day);
        return seconds << 32 | count;
    }
}
