package shop.scripts;

import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

/** A lock that only its owner releases, by unlock.lua. */
class SimpleRedisLock {
    private static final DefaultRedisScript<Long> UNLOCK = new DefaultRedisScript<>();

    static {
        UNLOCK.setLocation(new ClassPathResource("unlock.lua"));
        UNLOCK.setResultType(Long.class);
    }

    private final String token = UUID.randomUUID().toString();
    private final StringRedisTemplate redis;
    private final String key;

    SimpleRedisLock(StringRedisTemplate redis, String name) {
        this.redis = redis;
        this.key = "lock:" + name;
    }

    boolean tryLock(Duration lease) {
        return Boolean.TRUE.equals(redis.opsForValue().setIfAbsent(key, token, lease));
    }

    boolean unlock() {
        return Long.valueOf(1).equals(redis.execute(UNLOCK, List.of(key), token));
    }
}
