package io.github.seckill.spring;

import io.github.seckill.client.BuyerStatus;
import io.github.seckill.client.Cancellation;
import io.github.seckill.client.Confirmation;
import io.github.seckill.client.Extension;
import io.github.seckill.client.Order;
import io.github.seckill.client.OrderRef;
import io.github.seckill.client.Outcome;
import io.github.seckill.client.Purchase;
import io.github.seckill.client.Reservation;
import io.github.seckill.client.SaleAudit;
import io.github.seckill.client.SaleInfo;
import io.github.seckill.client.SeckillClient;
import java.time.Duration;
import java.util.Optional;

/** The commands of one voucher's sale, as {@link SeckillClient} has them. */
public final class SaleOperations {
    private final SeckillClient client;
    private final String voucher;

    SaleOperations(SeckillClient client, String voucher) {
        this.client = client;
        this.voucher = voucher;
    }

    /**
     * What is on sale.
     *
     * @return the voucher
     */
    public String voucher() {
        return voucher;
    }

    /**
     * Tries to buy a unit.
     *
     * @param user who buys
     * @param orderId the id of the order. Use the same one to try again
     * @return what became of it
     */
    public Outcome tryBuy(String user, String orderId) {
        return client.tryBuy(voucher, user, orderId);
    }

    /**
     * Tries to buy a unit, with an order id that the server makes.
     *
     * @param user who buys
     * @return what became of it
     */
    public Purchase tryBuy(String user) {
        return client.tryBuy(voucher, user);
    }

    /**
     * Tries to buy a unit of a managed voucher, and tells until when it must be paid.
     *
     * @param user who buys
     * @param orderId the id of the order. Use the same one to try again
     * @return what became of it
     */
    public Reservation reserve(String user, String orderId) {
        return client.reserve(voucher, user, orderId, 1);
    }

    /**
     * Confirms a held order: it is sold.
     *
     * @param user who bought
     * @param orderId the id of the order
     * @param paymentRef the reference of the payment. A repetition under another one is an error
     * @return what became of it
     */
    public Confirmation confirm(String user, String orderId, String paymentRef) {
        return client.confirm(order(user, orderId), paymentRef);
    }

    /**
     * Confirms a held order: it is sold.
     *
     * @param user who bought
     * @param orderId the id of the order
     * @return what became of it
     */
    public Confirmation confirm(String user, String orderId) {
        return client.confirm(order(user, orderId));
    }

    /**
     * Releases the units of an order.
     *
     * @param user who bought
     * @param orderId the id of the order
     * @return what became of it
     */
    public Cancellation cancel(String user, String orderId) {
        return client.cancel(order(user, orderId));
    }

    /**
     * Gives a held order more time from now on.
     *
     * @param user who bought
     * @param orderId the id of the order
     * @param time how long from now
     * @return what became of it
     */
    public Extension extend(String user, String orderId, Duration time) {
        return client.extend(order(user, orderId), time);
    }

    /**
     * Looks an order up.
     *
     * @param orderId the id of the order
     * @return the order, if there is one
     */
    public Optional<Order> order(String orderId) {
        return client.order(voucher, orderId);
    }

    /**
     * What a user has.
     *
     * @param user the user
     * @return nothing if the user has not bought
     */
    public Optional<BuyerStatus> status(String user) {
        return client.status(voucher, user);
    }

    /**
     * How the sale stands.
     *
     * @return the sale
     */
    public SaleInfo info() {
        return client.info(voucher);
    }

    /**
     * Adds up the book and compares.
     *
     * @return what was found
     */
    public SaleAudit audit() {
        return client.audit(voucher);
    }

    private OrderRef order(String user, String orderId) {
        return OrderRef.of(voucher, user, orderId);
    }
}
