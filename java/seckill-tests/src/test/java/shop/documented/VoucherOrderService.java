package shop.documented;

import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Service;

/** Sells vouchers by the module. */
@Service
class VoucherOrderService {
    private final StringRedisTemplate redis;
    private final SeckillClient seckill;

    VoucherOrderService(StringRedisTemplate redis, SeckillClient seckill) {
        this.redis = redis;
        this.seckill = seckill;
    }

    void openSale(long voucherId, int stock) {
        redis.opsForValue().set("seckill:stock:" + voucherId, String.valueOf(stock));
        seckill.adopt(String.valueOf(voucherId), SaleRules.none());
    }

    /** What a controller would tell the buyer. */
    String buy(long voucherId, long userId) {
        String orderId = seckill.nextId("order"); // Or any id of yours that no other order has.
        return switch (seckill.tryBuy(
                String.valueOf(voucherId), String.valueOf(userId), orderId).outcome()) {
            case ACCEPTED -> "ordered";
            case SOLD_OUT -> "sold out";
            case AT_LIMIT -> "one order per user";
            default -> "try again with the order id " + orderId;
        };
    }
}
