package shop.documented;

import com.github.benmanes.caffeine.cache.Cache;
import com.github.benmanes.caffeine.cache.Caffeine;
import io.github.seckill.client.Article;
import io.github.seckill.client.CartResult;
import io.github.seckill.client.Confirmation;
import io.github.seckill.client.OrderRef;
import io.github.seckill.client.Outcome;
import io.github.seckill.client.Reservation;
import io.github.seckill.client.Reservation.Held;
import io.github.seckill.client.Reservation.Refused;
import io.github.seckill.client.Reservation.Sold;
import io.github.seckill.client.Reservation.Waiting;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.spring.listener.*;
import java.time.Duration;
import java.util.List;
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

    private static String answer(Reservation reservation) {
        if (reservation instanceof Held held) {
            return "pay before " + held.deadline();
        }
        if (reservation instanceof Waiting waiting) {
            return "number " + waiting.position() + " in line";
        }
        if (reservation instanceof Sold) {
            return "paid";
        }
        if (reservation instanceof Refused refused) {
            return "not reserved: " + refused.outcome();
        }
        return "try again with the same order id";
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

    /** Payments that have bought nothing; on UNKNOWN ones a person decides. */
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

    /** As buy(..), but where all is sold the order waits in line. */
    String buyOrWait(String voucher, String user, String orderId) {
        return answer(seckill.reserveOrWait(voucher, user, orderId));
    }

    /** Orders that have left the line with their units: their buyers are told by mail. */
    @SeckillOrderListener(group = "mails")
    void served(OrderPlaced placed) {
        if (placed.waited() != null) {
            mails.put(placed.order().orderId(), "pay before " + placed.deadline());
        }
    }

    /** Buys several articles in one order, or nothing. */
    String buyCart(String user, String orderId, List<Article> articles) {
        CartResult cart = seckill.tryAll(user, orderId, articles);
        if (cart.outcomes().contains(Outcome.UNKNOWN)) {
            return "try again with the same order id";
        }
        return cart.isBought() ? "bought" : "not bought: " + cart.outcomes();
    }

    private final Cache<String, Outcome> soldOut =
            Caffeine.newBuilder().expireAfterWrite(Duration.ofSeconds(1)).build();

    /** A buyer's first request; a repetition asks the server, which knows the order. */
    Outcome quick(String voucher, String user, String orderId) {
        Outcome outcome = soldOut.getIfPresent(voucher);
        if (outcome == null) {
            outcome = seckill.tryBuy(voucher, user, orderId);
            if (outcome == Outcome.SOLD_OUT) {
                soldOut.put(voucher, outcome);
            }
        }
        return outcome;
    }
}
