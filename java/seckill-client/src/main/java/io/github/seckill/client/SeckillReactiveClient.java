package io.github.seckill.client;

import java.time.Duration;
import java.util.List;
import org.reactivestreams.Publisher;

/**
 * {@link SeckillClient} for reactive streams. A publisher sends its command when it is subscribed
 * to and something is requested, once for each subscriber. Cancelling a subscription before the
 * command was sent keeps it from being sent.
 */
public interface SeckillReactiveClient {
    /**
     * As {@link SeckillClient#tryBuy(String, String, String)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order that an accepted try makes: another for each purchase, and
     *     the same for each repetition of it; not {@code *}
     * @return one element
     */
    Publisher<Outcome> tryBuy(String voucher, String user, String orderId);

    /**
     * As {@link SeckillClient#tryBuy(String, String, String, long)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as above
     * @param units how many, at least 1
     * @return one element
     */
    Publisher<Outcome> tryBuy(String voucher, String user, String orderId, long units);

    /**
     * As {@link SeckillClient#tryBuy(String, String)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @return one element
     */
    Publisher<Purchase> tryBuy(String voucher, String user);

    /**
     * As {@link SeckillClient#tryAll(String, List)}.
     *
     * @param voucher what is on sale
     * @param attempts at least 1 and at most 1,024
     * @return one element
     */
    Publisher<List<AttemptResult>> tryAll(String voucher, List<Attempt> attempts);

    /**
     * As {@link SeckillClient#reserve(String, String, String, long)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as of {@link #tryBuy(String, String, String)}
     * @param units how many, at least 1
     * @return one element
     */
    Publisher<Reservation> reserve(String voucher, String user, String orderId, long units);

    /**
     * As {@link SeckillClient#tryKeys(KeyedTry)}.
     *
     * @param attempt the try
     * @return one element
     */
    Publisher<Outcome> tryKeys(KeyedTry attempt);

    /**
     * As {@link SeckillClient#create(String, long, SaleRules)}.
     *
     * @param voucher what will be on sale
     * @param stock how many units
     * @param rules the rules of its sale
     * @return nothing, once it is done
     */
    Publisher<Void> create(String voucher, long stock, SaleRules rules);

    /**
     * As {@link SeckillClient#adopt(String, SaleRules)}.
     *
     * @param voucher what will be on sale
     * @param rules the rules of its sale
     * @return nothing, once it is done
     */
    Publisher<Void> adopt(String voucher, SaleRules rules);

    /**
     * As {@link SeckillClient#alter(String, SaleRules)}.
     *
     * @param voucher what is on sale
     * @param rules what to change; at least one rule
     * @return nothing, once it is done
     */
    Publisher<Void> alter(String voucher, SaleRules rules);

    /**
     * As {@link SeckillClient#restock(String, long)}.
     *
     * @param voucher what is on sale
     * @param delta how many units to add; negative to remove
     * @return one element
     */
    Publisher<Long> restock(String voucher, long delta);

    /**
     * As {@link SeckillClient#drop(String)}.
     *
     * @param voucher what was on sale
     * @return one element
     */
    Publisher<DropResult> drop(String voucher);

    /**
     * As {@link SeckillClient#releaseAndDrop(String)}.
     *
     * @param voucher what was on sale
     * @return one element
     */
    Publisher<DropResult> releaseAndDrop(String voucher);

    /**
     * As {@link SeckillClient#confirm(OrderRef)}.
     *
     * @param order the order
     * @return one element
     */
    Publisher<Confirmation> confirm(OrderRef order);

    /**
     * As {@link SeckillClient#confirm(OrderRef, String)}.
     *
     * @param order the order
     * @param paymentRef the payment's reference, as its provider gave it
     * @return one element
     */
    Publisher<Confirmation> confirm(OrderRef order, String paymentRef);

    /**
     * As {@link SeckillClient#cancel(OrderRef)}.
     *
     * @param order the order
     * @return one element
     */
    Publisher<Cancellation> cancel(OrderRef order);

    /**
     * As {@link SeckillClient#cancelIf(OrderRef, OrderState)}.
     *
     * @param order the order
     * @param state {@link OrderState#HELD} or {@link OrderState#SOLD}
     * @return one element
     */
    Publisher<Cancellation> cancelIf(OrderRef order, OrderState state);

    /**
     * As {@link SeckillClient#extend(OrderRef, Duration)}.
     *
     * @param order the order
     * @param time how long it is to be held at least
     * @return one element
     */
    Publisher<Extension> extend(OrderRef order, Duration time);

    /**
     * As {@link SeckillClient#order(String, String)}.
     *
     * @param voucher what was bought
     * @param orderId the order
     * @return one element, or none where there is nothing
     */
    Publisher<Order> order(String voucher, String orderId);

    /**
     * As {@link SeckillClient#status(String, String)}.
     *
     * @param voucher what was bought
     * @param user who may have bought
     * @return one element, or none where there is nothing
     */
    Publisher<BuyerStatus> status(String voucher, String user);

    /**
     * As {@link SeckillClient#info(String)}.
     *
     * @param voucher what is on sale
     * @return one element
     */
    Publisher<SaleInfo> info(String voucher);

    /**
     * As {@link SeckillClient#audit(String)}.
     *
     * @param voucher a managed voucher
     * @return one element
     */
    Publisher<SaleAudit> audit(String voucher);

    /**
     * As {@link SeckillClient#reject(String, String, String, String)}.
     *
     * @param stream the stream
     * @param group the consumer group that the entry was delivered to
     * @param entryId the entry
     * @param reason why, for people
     * @return one element
     */
    Publisher<Boolean> reject(String stream, String group, String entryId, String reason);

    /**
     * As {@link SeckillClient#deadLetters(String, String, int)}.
     *
     * @param stream the stream that the entries were in, not that of the dead letters
     * @param after only those after this id of a dead letter; {@code 0} for all
     * @param count how many at most
     * @return one element
     */
    Publisher<List<DeadLetter>> deadLetters(String stream, String after, int count);

    /**
     * As {@link SeckillClient#nextId(String)}.
     *
     * @param prefix what the id is for
     * @return one element
     */
    Publisher<String> nextId(String prefix);

    /**
     * As {@link SeckillClient#nextIds(String, int)}.
     *
     * @param prefix what the ids are for
     * @param count how many, 1 to 65,536
     * @return one element
     */
    Publisher<List<String>> nextIds(String prefix, int count);

    /**
     * As {@link SeckillClient#deduct(String, long)}.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return one element
     */
    Publisher<Deduction> deduct(String key, long units);

    /**
     * As {@link SeckillClient#restore(String, long)}.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return one element
     */
    Publisher<Long> restore(String key, long units);

    /**
     * As {@link SeckillClient#draw(String, String)}.
     *
     * @param pool the pool of codes
     * @param user who draws
     * @return one element
     */
    Publisher<Prize> draw(String pool, String user);

    /**
     * As {@link SeckillClient#undraw(String, String)}.
     *
     * @param pool the pool of codes
     * @param user who has drawn
     * @return one element
     */
    Publisher<Boolean> undraw(String pool, String user);
}
