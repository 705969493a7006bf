package shop.documented;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.SeckillOrderListener;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.springframework.stereotype.Service;

/** Reserves a unit for a buyer, and takes the payment. */
@Service
class Checkout {
    final Map<String, String> refunds = new ConcurrentHashMap<>();
    final Map<String, String> mails = new ConcurrentHashMap<>();
    private final SeckillClient seckill;

    Checkout(SeckillClient seckill) {
        this.seckill = seckill;
    }

    /** Answers a buyer. A retry has the order id of the first request. */
    String buy(String voucher, String user, String orderId) {
        return answer(seckill.reserve(voucher, user, orderId));
    }

    private static String answer(Purchase purchase) {
        return switch (purchase.outcome()) {
            case ACCEPTED ->
                    purchase.deadline() == null ? "paid" : "pay before " + purchase.deadline();
            case WAITING -> "number " + purchase.order().position() + " in the queue";
            case UNKNOWN -> "try again with the same order id";
            default -> "not reserved: " + purchase.outcome();
        };
    }

    /** Called back by the payment provider, possibly more than once. */
    String paid(String voucher, long sale, String user, String orderId, String reference) {
        OrderRef order = OrderRef.of(voucher, user, orderId).inSale(sale);
        Confirmation done = seckill.confirm(order, reference);
        if (done.ship()) {
            return "ship";
        }
        // refund(..) is told, too. Where it is neither yet, look before you pay anything back.
        return done.refund() ? "refund" : "look";
    }

    /** Payments that have bought nothing; an operator decides on UNMATCHED ones. */
    @SeckillOrderListener(group = "refunds")
    void refund(PaymentToRefund payment, String idempotencyKey) {
        refunds.put(idempotencyKey, payment.reason() + " " + payment.paymentRef());
    }

    /** Paid orders that were released, all of their units or some. */
    @SeckillOrderListener(group = "refunds")
    void refund(OrderReleased released, String idempotencyKey) {
        long units = released.unitsToRefund();
        if (units > 0) {
            refunds.put(idempotencyKey, units + " of " + released.paymentRef());
        }
    }

    /** As buy(..), but where all is sold the order waits in the queue. */
    String buyOrWait(String voucher, String user, String orderId) {
        return answer(seckill.reserveOrWait(voucher, user, orderId));
    }

    /** Orders that have left the queue with their units: their buyers are told by mail. */
    @SeckillOrderListener(group = "mails")
    void served(OrderPlaced placed) {
        if (placed.waited() != null) {
            mails.put(placed.order().orderId(), "pay before " + placed.deadline());
        }
    }

    /** Buys several articles in one order, or nothing. */
    String buyCart(String user, String orderId, Map<String, Long> units) {
        Map<String, Outcome> cart = seckill.tryAll(user, orderId, units);
        if (cart.containsValue(Outcome.UNKNOWN)) {
            return "try again with the same order id";
        }
        boolean bought = cart.values().stream().allMatch(Outcome.ACCEPTED::equals);
        return bought ? "bought" : "not bought: " + cart;
    }

    private final Cache<String, Purchase> soldOut =
            Caffeine.newBuilder().expireAfterWrite(Duration.ofSeconds(1)).build();

    /** A buyer's first request; a repetition asks the server, which knows the order. */
    Purchase quick(String voucher, String user, String orderId) {
        Purchase known = soldOut.getIfPresent(voucher);
        Purchase purchase = known != null ? known : seckill.tryBuy(voucher, user, orderId);
        if (purchase.outcome() == Outcome.SOLD_OUT) {
            soldOut.asMap().putIfAbsent(voucher, purchase);
        }
        return purchase;
    }
}
