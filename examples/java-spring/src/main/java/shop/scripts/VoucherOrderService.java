package shop.scripts;

import java.util.List;
import org.springframework.core.io.ClassPathResource;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import org.springframework.stereotype.Service;

/** Sells vouchers by seckill.lua. */
@Service
class VoucherOrderService {
    private static final DefaultRedisScript<Long> SECKILL = new DefaultRedisScript<>();

    static {
        SECKILL.setLocation(new ClassPathResource("seckill.lua"));
        SECKILL.setResultType(Long.class);
    }

    private final StringRedisTemplate redis;
    private final RedisIdWorker ids;

    VoucherOrderService(StringRedisTemplate redis, RedisIdWorker ids) {
        this.redis = redis;
        this.ids = ids;
    }

    void openSale(long voucherId, int stock) {
        redis.opsForValue().set("seckill:stock:" + voucherId, String.valueOf(stock));
    }

    /** What a controller would tell the buyer. */
    String buy(long voucherId, long userId) {
        long orderId = ids.nextId("order");
        Long outcome =
                redis.execute(
                        SECKILL,
                        List.of(),
                        String.valueOf(voucherId),
                        String.valueOf(userId),
                        String.valueOf(orderId));
        return switch (outcome.intValue()) {
            case 0 -> "ordered";
            case 1 -> "sold out";
            case 2 -> "one order per user";
            default -> throw new IllegalStateException("outcome " + outcome);
        };
    }
}
