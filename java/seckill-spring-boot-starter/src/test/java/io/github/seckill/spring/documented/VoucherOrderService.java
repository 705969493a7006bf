package io.github.seckill.spring.documented;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SaleRules;
import io.github.seckill.spring.SeckillTemplate;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

/** Sells vouchers by the module. */
@Service
class VoucherOrderService {
    private final StringRedisTemplate redis;
    private final SeckillTemplate seckill;

    VoucherOrderService(StringRedisTemplate redis, SeckillTemplate seckill) {
        this.redis = redis;
        this.seckill = seckill;
    }

    void openSale(long voucherId, int stock) {
        redis.opsForValue().set("seckill:stock:" + voucherId, String.valueOf(stock));
        seckill.client().adopt(String.valueOf(voucherId), SaleRules.none());
    }

    /** What a controller would tell the buyer. */
    String buy(long voucherId, long userId) {
        String orderId = seckill.client().nextId("order");
        Outcome outcome =
                seckill.tryBuy(
                        String.valueOf(voucherId),
                        String.valueOf(userId),
                        orderId);
        return switch (outcome) {
            case ACCEPTED -> "ordered";
            case SOLD_OUT -> "sold out";
            case ALREADY_BOUGHT -> "one order per user";
            default -> throw new IllegalStateException("outcome " + outcome);
        };
    }
}
