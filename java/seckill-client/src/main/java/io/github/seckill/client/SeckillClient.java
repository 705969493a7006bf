package io.github.seckill.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletionStage;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/**
 * Sells on a server that has the seckill module, and waits for the answers. {@link #async()}
 * is the same without waiting, and {@link #publish} makes publishers of that. Thread-safe; one per
 * application.
 *
 * <p><b>What is answered and what is thrown.</b> What a buyer can run into is returned. A mistake
 * is thrown as a {@link SeckillException}, whose code says which.
 *
 * <p><b>No answer in time.</b> A command that may be repeated is sent again, the same to the byte,
 * until {@link SeckillOptions#retryFor()}: so are tries on managed vouchers, by their order id. A
 * try on an unmanaged voucher is sent once, and without an answer it is {@link Outcome#UNKNOWN}.
 * Which of the two a voucher is, the client asks the server after the time-out. Other commands that
 * can't be repeated throw {@link SeckillException.NoAnswer}, and say so below.
 */
public interface SeckillClient extends AutoCloseable {
    /**
     * Makes a client with the default options.
     *
     * @param transport how to reach the server; closed with the client
     * @return the client
     */
    static SeckillClient create(SeckillTransport transport) {
        return create(transport, SeckillOptions.defaults());
    }

    /**
     * Makes a client.
     *
     * @param transport how to reach the server; closed with the client
     * @param options how it behaves
     * @return the client
     */
    static SeckillClient create(SeckillTransport transport, SeckillOptions options) {
        return create(transport, options, SeckillObserver.none());
    }

    /**
     * Makes a client that is observed.
     *
     * @param transport how to reach the server; closed with the client
     * @param options how it behaves
     * @param observer is notified of tries and batches
     * @return the client
     */
    static SeckillClient create(
            SeckillTransport transport, SeckillOptions options, SeckillObserver observer) {
        return new DefaultSeckillClient(transport, options, observer);
    }

    /**
     * The same commands without waiting.
     *
     * @return a client that returns stages; it shares everything with this one
     */
    SeckillAsyncClient async();

    /**
     * Any command for reactive streams: {@code Mono.from(seckill.publish(s -> s.info("7")))}. It is
     * sent once for each subscriber that requests something; a try that is cancelled before it is
     * sent is not sent.
     *
     * @param command calls a method of {@link #async()}
     * @param <T> what it replies
     * @return publishes the reply; where that is null, nothing
     */
    <T> Publisher<T> publish(
            Function<? super SeckillAsyncClient, ? extends CompletionStage<? extends @Nullable T>>
                    command);

    /**
     * Tries to buy one unit.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order that an accepted try makes: another for each purchase, and
     *     the same for each repetition of it; not {@code *}
     * @return what became of it
     */
    Outcome tryBuy(String voucher, String user, String orderId);

    /**
     * Tries to buy units, all of them or none. Never coalesced if more than one.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as above
     * @param units how many, at least 1
     * @return what became of it
     */
    Outcome tryBuy(String voucher, String user, String orderId, long units);

    /**
     * Tries to buy one unit and has the server make the order id, in one round trip. Can't be sent
     * again: prefer an id of your own, or of {@link #nextId}.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @return what became of it
     */
    Purchase tryBuy(String voucher, String user);

    /**
     * Tries many purchases of one unit in one command, each decided by itself in the given order.
     *
     * @param voucher what is on sale
     * @param attempts at least 1 and at most 1,024
     * @return one result for each, in the same order
     */
    List<AttemptResult> tryAll(String voucher, List<Attempt> attempts);

    /**
     * Tries to buy units of a managed voucher and says until when they must be paid. An accepted
     * try asks the server a second time, for the deadline.
     *
     * @param voucher what is on sale
     * @param user who buys
     * @param orderId the id of the order, as of {@link #tryBuy(String, String, String)}
     * @param units how many, at least 1
     * @return what became of it
     */
    Reservation reserve(String voucher, String user, String orderId, long units);

    /**
     * Tries to buy of an unmanaged voucher whose keys are spelled out. Sent once.
     *
     * @param attempt the try
     * @return what became of it
     */
    Outcome tryKeys(KeyedTry attempt);

    /**
     * Makes a managed voucher. Not repeated: without an answer it throws {@link
     * SeckillException.NoAnswer}, and {@link #info} tells.
     *
     * @param voucher what will be on sale
     * @param stock how many units
     * @param rules the rules of its sale
     */
    void create(String voucher, long stock, SaleRules rules);

    /**
     * Makes a voucher managed whose stock key is set and which has no buyers yet. Not
     * repeated, as {@link #create}.
     *
     * @param voucher what will be on sale
     * @param rules the rules of its sale
     */
    void adopt(String voucher, SaleRules rules);

    /**
     * Changes rules of a managed voucher, also while it sells.
     *
     * @param voucher what is on sale
     * @param rules what to change; at least one rule
     */
    void alter(String voucher, SaleRules rules);

    /**
     * Adds units to stock and total of a managed voucher, or removes some. Not repeated: without an
     * answer it throws {@link SeckillException.NoAnswer}, and the total of {@link #info} tells.
     *
     * @param voucher what is on sale
     * @param delta how many units to add; negative to remove
     * @return the units left
     */
    long restock(String voucher, long delta);

    /**
     * Removes every key of a voucher, and no stream. Throws {@link SeckillException.Code#HELD}
     * while orders are held. Not repeated.
     *
     * @param voucher what was on sale
     * @return what became of it
     */
    DropResult drop(String voucher);

    /**
     * Removes every key of a voucher after its held orders were released, at most a hundred of them
     * in one call. Not repeated; calling it again is safe.
     *
     * @param voucher what was on sale
     * @return what became of it
     */
    DropResult releaseAndDrop(String voucher);

    /**
     * Makes a held order sold: its user has paid.
     *
     * @param order the order
     * @return what became of it
     */
    Confirmation confirm(OrderRef order);

    /**
     * Makes a held order sold and keeps the reference of the payment. Throws {@link
     * SeckillException.Code#PAID} when the order was paid under another one.
     *
     * @param order the order
     * @param paymentRef the payment's reference, as its provider gave it
     * @return what became of it
     */
    Confirmation confirm(OrderRef order, String paymentRef);

    /**
     * Releases an order's units, once, whether it is held or sold. On an unmanaged voucher it takes
     * the user out of the buyers and is not repeated: without an answer it throws {@link
     * SeckillException.NoAnswer} there.
     *
     * @param order the order
     * @return what became of it
     */
    Cancellation cancel(OrderRef order);

    /**
     * Releases the units of an order of a managed voucher if it is in this state.
     *
     * @param order the order
     * @param state {@link OrderState#HELD} or {@link OrderState#SOLD}
     * @return what became of it
     */
    Cancellation cancelIf(OrderRef order, OrderState state);

    /**
     * Moves the deadline of a held order to this long from now, never to an earlier one.
     *
     * @param order the order
     * @param time how long it is to be held at least
     * @return what became of it
     */
    Extension extend(OrderRef order, Duration time);

    /**
     * Where an order of a managed voucher stands.
     *
     * @param voucher what was bought
     * @param orderId the order
     * @return the order, or nothing when there is none
     */
    Optional<Order> order(String voucher, String orderId);

    /**
     * What a user has of a voucher.
     *
     * @param voucher what was bought
     * @param user who may have bought
     * @return what the user has, or nothing
     */
    Optional<BuyerStatus> status(String voucher, String user);

    /**
     * How the sale of a voucher stands.
     *
     * @param voucher what is on sale
     * @return how it stands; of a voucher without any key all is nothing
     */
    SaleInfo info(String voucher);

    /**
     * Adds up the book of a managed voucher and compares it with its other keys, in short steps
     * between which the sale goes on.
     *
     * @param voucher a managed voucher
     * @return the sums and the differences
     */
    SaleAudit audit(String voucher);

    /**
     * Moves an entry of a stream to its dead letters and releases its order, once.
     *
     * @param stream the stream
     * @param group the consumer group that the entry was delivered to
     * @param entryId the entry
     * @param reason why, for people
     * @return false if the entry is not pending in that group, as after an earlier rejection
     */
    boolean reject(String stream, String group, String entryId, String reason);

    /**
     * Reads dead letters, the oldest first.
     *
     * @param stream the stream that the entries were in, not that of the dead letters
     * @param after only those after this id of a dead letter; {@code 0} for all
     * @param count how many at most
     * @return the dead letters
     */
    List<DeadLetter> deadLetters(String stream, String after, int count);

    /**
     * Makes an id that never repeats under its prefix.
     *
     * @param prefix what the id is for
     * @return the id, a decimal number of at most 63 bits
     */
    String nextId(String prefix);

    /**
     * Makes ids that follow each other.
     *
     * @param prefix what the ids are for
     * @param count how many, 1 to 65,536
     * @return the ids
     */
    List<String> nextIds(String prefix, int count);

    /**
     * Takes units from a bare stock. Sent once.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return what became of it
     */
    Deduction deduct(String key, long units);

    /**
     * Puts units back into a bare stock. Not repeated: without an answer it throws {@link
     * SeckillException.NoAnswer}.
     *
     * @param key the stock
     * @param units how many, at least 1
     * @return the stock with them; -1 when the key does not exist or is unlimited
     */
    long restore(String key, long units);

    /**
     * Draws a prize code for a user, or tells the one that they have.
     *
     * @param pool the pool of codes
     * @param user who draws
     * @return what became of it
     */
    Prize draw(String pool, String user);

    /**
     * Puts a user's prize code back. Not repeated: without an answer it throws {@link
     * SeckillException.NoAnswer}.
     *
     * @param pool the pool of codes
     * @param user who has drawn
     * @return false if the user has no code
     */
    boolean undraw(String pool, String user);

    /**
     * A lock with the default options.
     *
     * @param key the lock
     * @return the lock. All locks of this client and this key are the same lock
     */
    default SeckillLock lock(String key) {
        return lock(key, LockOptions.defaults());
    }

    /**
     * A lock.
     *
     * @param key the lock
     * @param options how it behaves
     * @return the lock. All locks of this client and this key are the same lock
     */
    SeckillLock lock(String key, LockOptions options);

    /**
     * Closes the client and its transport, and releases what its locks hold. Tries that are under
     * way end as {@link Outcome#UNKNOWN}; those that were not sent fail as {@link
     * SeckillException.Busy}.
     */
    @Override
    void close();
}
