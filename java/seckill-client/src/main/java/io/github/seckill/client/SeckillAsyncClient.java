package io.github.seckill.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * {@link SeckillClient} without waiting. Stages fail with a {@link SeckillException}, unwrapped.
 *
 * <p>A stage that is cancelled ({@code toCompletableFuture().cancel(false)}) before its try was
 * sent leaves the batch. The server still decides what was already sent.
 *
 * <p>Stages complete on a thread of the Redis client: don't block there.
 */
public interface SeckillAsyncClient {
    /**
     * As {@link SeckillClient#tryBuy(String, String, String)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order that an accepted try makes: another for each purchase, and
     *     the same for each repetition of it; not {@code *}
     * @return what is said there
     */
    CompletionStage<Outcome> tryBuy(String voucher, String user, String orderId);

    /**
     * As {@link SeckillClient#tryBuy(String, String, String, long)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as above
     * @param units how many, at least 1
     * @return what is said there
     */
    CompletionStage<Outcome> tryBuy(String voucher, String user, String orderId, long units);

    /**
     * As {@link SeckillClient#tryBuy(String, String)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @return what is said there
     */
    CompletionStage<Purchase> tryBuy(String voucher, String user);

    /**
     * As {@link SeckillClient#tryAll(String, List)}.
     *
     * @param voucher what is on sale
     * @param attempts at least 1 and at most 1,024
     * @return what is said there
     */
    CompletionStage<List<AttemptResult>> tryAll(String voucher, List<Attempt> attempts);

    /**
     * As {@link SeckillClient#reserve(String, String, String, long)}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as of {@link #tryBuy(String, String, String)}
     * @param units how many, at least 1
     * @return what is said there
     */
    CompletionStage<Reservation> reserve(String voucher, String user, String orderId, long units);

    /**
     * As {@link SeckillClient#tryKeys(KeyedTry)}.
     *
     * @param attempt the try
     * @return what is said there
     */
    CompletionStage<Outcome> tryKeys(KeyedTry attempt);

    /**
     * As {@link SeckillClient#create(String, long, SaleRules)}.
     *
     * @param voucher what will be on sale
     * @param stock how many units
     * @param rules the rules of its sale
     * @return nothing, once it is done
     */
    CompletionStage<@Nullable Void> create(String voucher, long stock, SaleRules rules);

    /**
     * As {@link SeckillClient#adopt(String, SaleRules)}.
     *
     * @param voucher what will be on sale
     * @param rules the rules of its sale
     * @return nothing, once it is done
     */
    CompletionStage<@Nullable Void> adopt(String voucher, SaleRules rules);

    /**
     * As {@link SeckillClient#alter(String, SaleRules)}.
     *
     * @param voucher what is on sale
     * @param rules what to change; at least one rule
     * @return nothing, once it is done
     */
    CompletionStage<@Nullable Void> alter(String voucher, SaleRules rules);

    /**
     * As {@link SeckillClient#restock(String, long)}.
     *
     * @param voucher what is on sale
     * @param delta how many units to add; negative to remove
     * @return what is said there
     */
    CompletionStage<Long> restock(String voucher, long delta);

    /**
     * As {@link SeckillClient#drop(String)}.
     *
     * @param voucher what was on sale
     * @return what is said there
     */
    CompletionStage<DropResult> drop(String voucher);

    /**
     * As {@link SeckillClient#releaseAndDrop(String)}.
     *
     * @param voucher what was on sale
     * @return what is said there
     */
    CompletionStage<DropResult> releaseAndDrop(String voucher);

    /**
     * As {@link SeckillClient#confirm(OrderRef)}.
     *
     * @param order the order
     * @return what is said there
     */
    CompletionStage<Confirmation> confirm(OrderRef order);

    /**
     * As {@link SeckillClient#confirm(OrderRef, String)}.
     *
     * @param order the order
     * @param paymentRef the payment's reference, as its provider gave it
     * @return what is said there
     */
    CompletionStage<Confirmation> confirm(OrderRef order, String paymentRef);

    /**
     * As {@link SeckillClient#cancel(OrderRef)}.
     *
     * @param order the order
     * @return what is said there
     */
    CompletionStage<Cancellation> cancel(OrderRef order);

    /**
     * As {@link SeckillClient#cancelIf(OrderRef, OrderState)}.
     *
     * @param order the order
     * @param state {@link OrderState#HELD} or {@link OrderState#SOLD}
     * @return what is said there
     */
    CompletionStage<Cancellation> cancelIf(OrderRef order, OrderState state);

    /**
     * As {@link SeckillClient#extend(OrderRef, Duration)}.
     *
     * @param order the order
     * @param time how long it is to be held at least
     * @return what is said there
     */
    CompletionStage<Extension> extend(OrderRef order, Duration time);

    /**
     * As {@link SeckillClient#order(String, String)}.
     *
     * @param voucher what was bought
     * @param orderId the order
     * @return what is said there
     */
    CompletionStage<Optional<Order>> order(String voucher, String orderId);

    /**
     * As {@link SeckillClient#status(String, String)}.
     *
     * @param voucher what was bought
     * @param user who may have bought
     * @return what is said there
     */
    CompletionStage<Optional<BuyerStatus>> status(String voucher, String user);

    /**
     * As {@link SeckillClient#info(String)}.
     *
     * @param voucher what is on sale
     * @return what is said there
     */
    CompletionStage<SaleInfo> info(String voucher);

    /**
     * As {@link SeckillClient#audit(String)}.
     *
     * @param voucher a managed voucher
     * @return what is said there
     */
    CompletionStage<SaleAudit> audit(String voucher);

    /**
     * As {@link SeckillClient#reject(String, String, String, String)}.
     *
     * @param stream the stream
     * @param group the consumer group that the entry was delivered to
     * @param entryId the entry
     * @param reason why, for people
     * @return what is said there
     */
    CompletionStage<Boolean> reject(String stream, String group, String entryId, String reason);

    /**
     * As {@link SeckillClient#deadLetters(String, String, int)}.
     *
     * @param stream the stream that the entries were in, not that of the dead letters
     * @param after only those after this id of a dead letter; {@code 0} for all
     * @param count how many at most
     * @return what is said there
     */
    CompletionStage<List<DeadLetter>> deadLetters(String stream, String after, int count);

    /**
     * As {@link SeckillClient#nextId(String)}.
     *
     * @param prefix what the id is for
     * @return what is said there
     */
    CompletionStage<String> nextId(String prefix);

    /**
     * As {@link SeckillClient#nextIds(String, int)}.
     *
     * @param prefix what the ids are for
     * @param count how many, 1 to 65,536
     * @return what is said there
     */
    CompletionStage<List<String>> nextIds(String prefix, int count);

    /**
     * As {@link SeckillClient#deduct(String, long)}.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return what is said there
     */
    CompletionStage<Deduction> deduct(String key, long units);

    /**
     * As {@link SeckillClient#restore(String, long)}.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return what is said there
     */
    CompletionStage<Long> restore(String key, long units);

    /**
     * As {@link SeckillClient#draw(String, String)}.
     *
     * @param pool the pool of codes
     * @param user who draws
     * @return what is said there
     */
    CompletionStage<Prize> draw(String pool, String user);

    /**
     * As {@link SeckillClient#undraw(String, String)}.
     *
     * @param pool the pool of codes
     * @param user who has drawn
     * @return what is said there
     */
    CompletionStage<Boolean> undraw(String pool, String user);
}
