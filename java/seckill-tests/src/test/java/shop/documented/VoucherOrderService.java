package shop.documented;

import static io.github.seckill.client.Commands.adopt;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.Purchase;
import io.github.seckill.client.Purchase.Accepted;
import io.github.seckill.client.Purchase.Refused;
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
        seckill.run(adopt(String.valueOf(voucherId), SaleRules.none()));
    }

    /** What a controller would tell the buyer. */
    String buy(long voucherId, long userId) {
        Purchase purchase =
                seckill.tryBuy(String.valueOf(voucherId), String.valueOf(userId));
        if (purchase instanceof Accepted) { // It has the order id.
            return "ordered";
        }
        if (purchase instanceof Refused refused) {
            return refused.outcome() == Outcome.SOLD_OUT ? "sold out" : "one order per user";
        }
        return "look at your orders"; // No answer came: status(voucher, user) tells.
    }
}
