package shop.documented;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.seckill.client.*;
import java.time.Duration;

/** Spares the requests for what is sold out. */
final class SoldOut {
    private final SeckillClient seckill;

    SoldOut(SeckillClient seckill) {
        this.seckill = seckill;
    }

    private final Cache<String, Purchase> soldOut =
            Caffeine.newBuilder().expireAfterWrite(Duration.ofSeconds(1)).build();

    /** A buyer's first request; a repetition asks the server, which knows the order. */
    Purchase buy(String voucher, String user, String orderId) {
        Purchase known = soldOut.getIfPresent(voucher);
        Purchase purchase = known != null ? known : seckill.tryBuy(voucher, user, orderId);
        if (purchase.outcome() == Outcome.SOLD_OUT) {
            soldOut.asMap().putIfAbsent(voucher, purchase);
        }
        return purchase;
    }
}
