package shop.commands;

import java.time.Duration;
import java.util.Map;
import org.springframework.context.annotation.Profile;
import org.springframework.dao.QueryTimeoutException;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.stereotype.Service;

/** Sells managed vouchers by the commands of the module. */
@Service
@Profile("commands")
class VoucherSale {
    private static final String[] OUTCOMES = {
        "accepted", "sold out", "already bought", "not started", "ended", "released"
    };

    private final Seckill seckill;

    VoucherSale(LettuceConnectionFactory connections) {
        this.seckill = new Seckill(connections);
    }

    record Answer(String outcome, int unanswered) {}

    record Order(String outcome, String id) {}

    void create(String voucher, int stock, Duration hold) {
        String holdMs = String.valueOf(hold.toMillis());
        seckill.status("SECKILL.CREATE", voucher, String.valueOf(stock), "HOLD", holdMs);
    }

    /** For the show: lets the server answer no write for a while. */
    void pause(Duration pause) {
        seckill.status("CLIENT", "PAUSE", String.valueOf(pause.toMillis()), "WRITE");
    }

    /**
     * Tries until there is an answer.
     *
     * <p>Sending a try again is safe because the voucher is managed and the order id is the same: a
     * try that was accepted is answered 0 again, and makes no second order. So make the id first
     * and keep it, as a string: in JSON a long would lose digits on its way to a browser.
     */
    Answer buy(String voucher, String user, String orderId) throws InterruptedException {
        for (int unanswered = 0; ; unanswered++) {
            try {
                long outcome = seckill.integer("SECKILL.TRY", voucher, user, orderId);
                return new Answer(OUTCOMES[(int) outcome], unanswered);
            } catch (QueryTimeoutException noAnswer) {
                if (unanswered == 9) {
                    throw noAnswer;
                }
                Thread.sleep(50L * (unanswered + 1));
            }
        }
    }

    /**
     * Tries and has the id made by the server, in one round trip. Such a try can't be sent again:
     * who got no answer doesn't know the id, and asks SECKILL.STATUS.
     */
    Order buy(String voucher, String user) {
        var reply = seckill.list("SECKILL.TRY", voucher, user, "*");
        return new Order(OUTCOMES[((Long) reply.get(0)).intValue()], (String) reply.get(1));
    }

    String confirm(String voucher, String user, String orderId) {
        String[] words = {"no such order", "confirmed", "paid before", "too late"};
        return words[(int) seckill.integer("SECKILL.CONFIRM", voucher, user, orderId)];
    }

    String cancel(String voucher, String user, String orderId) {
        String[] words = {"no such order", "given back", "given back before"};
        return words[(int) seckill.integer("SECKILL.CANCEL", voucher, user, orderId)];
    }

    Map<String, Object> order(String voucher, String orderId) {
        return seckill.map("SECKILL.ORDER", voucher, orderId);
    }

    Map<String, Object> info(String voucher) {
        return seckill.map("SECKILL.INFO", voucher);
    }
}
