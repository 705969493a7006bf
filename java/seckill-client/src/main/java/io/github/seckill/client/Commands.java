package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
import io.github.seckill.client.Cancellation.Release;
import java.time.Duration;
import java.time.Instant;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The commands of the module, for {@link SeckillClient#run} and {@link SeckillClient#start}. Meant
 * to be imported statically: {@code seckill.start(confirm(order))}.
 *
 * <p>A command without an answer is sent again unless it says otherwise here. One that is <b>sent
 * once</b> fails as {@link SeckillException.NoAnswer} then, or has a value for that.
 */
public final class Commands {
    private static final int ARTICLES_MAX = 32;
    private static final Purchase UNKNOWN = Purchase.without(Outcome.UNKNOWN);

    private Commands() {}

    /**
     * Tries to buy one unit. Sent again only if the voucher is managed, else {@link
     * Outcome#UNKNOWN}.
     *
     * @param orderId the id of the order that an accepted try makes: another for each purchase, and
     *     the same for each repetition of it; not {@code *}
     */
    public static Try tryBuy(String voucher, String user, String orderId) {
        return tryBuy(voucher, user, orderId, 1);
    }

    /** Tries to buy units, all of them or none. Never coalesced if more than one. */
    public static Try tryBuy(String voucher, String user, String orderId, long units) {
        Call<Purchase> call = Call.of(
                        "SECKILL.TRY", reply -> Replies.purchase(reply, orderId), named(voucher),
                        Args.text(user, "user"), Args.orderId(orderId))
                .option("UNITS", Args.units(units) == 1 ? null : units).repeat(Repeat.IF_MANAGED)
                .unanswered(UNKNOWN);
        return new Try(voucher, call, units == 1);
    }

    /**
     * Tries to buy several articles in one order, all of them or none, in a cluster of one slot.
     * Never coalesced, and sent again. The cart is bought if each outcome is {@link
     * Outcome#ACCEPTED}; all are {@link Outcome#UNKNOWN} if no answer came.
     *
     * @param orderId the id of the order of each article, the same for each repetition
     * @param units how many of each managed voucher: at least 1, of 1 to 32 vouchers
     */
    public static SeckillCommand<Map<String, Outcome>> tryAll(
            String user, String orderId, Map<String, Long> units) {
        Args.range(Args.present(units, "units").size(), "articles", 1, ARTICLES_MAX);
        List<String> vouchers = new ArrayList<>();
        List<Object> all = new ArrayList<>();
        units.forEach((voucher, count) -> {
            vouchers.add(named(voucher));
            all.addAll(List.of(voucher, Args.units(Args.present(count, "units"))));
        });
        all.addAll(List.of(Args.text(user, "user"), Args.orderId(orderId)));
        Map<String, Outcome> unknown = new LinkedHashMap<>();
        vouchers.forEach(voucher -> unknown.put(voucher, Outcome.UNKNOWN));
        return Call.of("SECKILL.TRYALL", reply -> Replies.cart(reply, vouchers), all.toArray())
                .unanswered(unknown);
    }

    /**
     * Reserves what a try on a managed voucher buys, which may wait in the queue: {@link
     * Try#waitlist}. An accepted try asks the server a second time, for the order with its
     * deadline.
     */
    public static SeckillCommand<Purchase> reserve(Try attempt) {
        return Args.present(attempt, "attempt").then(UNKNOWN, (bought, sender) -> {
            String orderId = bought.orderId();
            return orderId == null
                    ? CompletableFuture.completedFuture(bought)
                    : reserved(attempt.voucher, orderId).start(sender);
        });
    }

    /** Tries to buy one unit of a managed voucher and says until when it must be paid. */
    public static SeckillCommand<Purchase> reserve(String voucher, String user, String orderId) {
        return reserve(tryBuy(voucher, user, orderId));
    }

    /** The order is on record, now or since an earlier try: the book says where it stands. */
    private static SeckillCommand<Purchase> reserved(String voucher, String orderId) {
        Function<@Nullable Object, Purchase> reader =
                reply -> Purchase.of(orderId, Replies.order(reply).orElse(null));
        return Call.of("SECKILL.ORDER", reader, voucher, orderId).unanswered(UNKNOWN);
    }

    /**
     * Tries to buy of an unmanaged voucher whose keys are spelled out. Sent once.
     *
     * @param keys the keys of stock, of buyers and of the stream of orders
     * @param options what may follow the order id, such as {@code UNITS 2}, {@code FIELDS u v o},
     *     {@code MISSING sold-out} or {@code NOSTREAM}, a word each
     */
    public static Try tryKeys(
            List<String> keys, String voucher, String user, String orderId, String... options) {
        Args.range(Args.present(keys, "keys").size(), "keys", 3, 3);
        Args.orderId(orderId);
        Call<Purchase> call = Call.of(
                        "SECKILL.TRYKEYS", reply -> Replies.purchase(reply, orderId),
                        Args.text(keys.get(0), "stock key"), Args.text(keys.get(1), "buyers key"),
                        Args.text(keys.get(2), "stream"), named(voucher), Args.text(user, "user"),
                        orderId)
                .with(options).repeat(Repeat.NEVER).unanswered(UNKNOWN);
        return new Try(voucher, call, false);
    }

    /** Makes a managed voucher. Sent once; {@link #info} tells. */
    public static SeckillCommand<Void> create(String voucher, long stock, SaleRules rules) {
        return create(voucher, String.valueOf(Args.range(stock, "stock", 0, Long.MAX_VALUE)), rules);
    }

    /**
     * Makes a voucher managed that has a stock key and no buyers yet. Sent once. Not before every
     * instance passes an order id of its own: a managed voucher sells it once.
     */
    public static SeckillCommand<Void> adopt(String voucher, SaleRules rules) {
        return create(voucher, "ADOPT", rules);
    }

    private static SeckillCommand<Void> create(String voucher, String stock, SaleRules rules) {
        return ruled(Call.of("SECKILL.CREATE", Replies::nothing, named(voucher), stock), rules)
                .repeat(Repeat.NEVER);
    }

    /** Changes rules of a managed voucher, also while it sells; at least one rule. */
    public static SeckillCommand<Void> alter(String voucher, SaleRules rules) {
        if (Args.present(rules, "rules").equals(SaleRules.none())) {
            throw new IllegalArgumentException("rules must not be empty");
        }
        return ruled(Call.of("SECKILL.ALTER", Replies::nothing, named(voucher)), rules);
    }

    private static <T> Call<T> ruled(Call<T> call, SaleRules rules) {
        Duration hold = Args.present(rules, "rules").hold();
        return call.option("BEGIN", millis(rules.begin()))
                .option("END", millis(rules.end())).option("LIMIT", rules.limit())
                .option("HOLD", hold == null ? null : hold.toMillis());
    }

    private static @Nullable Long millis(@Nullable Instant time) {
        return time == null ? null : time.toEpochMilli();
    }

    /**
     * Adds units to a managed voucher, or removes them if negative, and replies the units left.
     * Sent once, since a repetition would add twice: {@link #restockTo} is sent again.
     */
    public static SeckillCommand<Long> restock(String voucher, long delta) {
        return restock(voucher, String.valueOf(delta)).repeat(Repeat.NEVER);
    }

    /** Adds or removes as many units as the total takes to be this, and replies the units left. */
    public static SeckillCommand<Long> restockTo(String voucher, long total) {
        Args.range(total, "total", 0, Long.MAX_VALUE);
        return restock(voucher, "TOTAL").with(String.valueOf(total));
    }

    /**
     * The same for an order, with its sale, that the book lacks and that its customer has all the
     * same. Noted with the order, so that a repetition changes nothing.
     */
    public static SeckillCommand<Long> restockFor(OrderRef order, long delta) {
        Args.present(order, "order");
        return restock(order.voucher(), String.valueOf(delta))
                .with("FOR", Args.text(order.user(), "user"), Args.text(order.orderId(), "orderId"))
                .inSale(Args.present(order.sale(), "sale"));
    }

    private static Call<Long> restock(String voucher, String change) {
        return Call.of("SECKILL.RESTOCK", Replies::integer, named(voucher), change);
    }

    /**
     * Removes every key of a voucher, and no stream; false if there were none, or no more. Fails as
     * {@link SeckillException.Code#HELD} while orders are held. Sent once, unless the sale is
     * named.
     */
    public static SeckillCommand<Boolean> drop(String voucher) {
        return Call.of("SECKILL.DROP", Replies::flag, named(voucher)).repeat(Repeat.IN_SALE);
    }

    /** Releases the held orders of a voucher, a hundred at a time, and drops it as above. */
    public static SeckillCommand<Boolean> releaseAndDrop(String voucher) {
        return released(
                Call.of("SECKILL.DROP", Replies::integer, named(voucher), "FORCE")
                        .repeat(Repeat.IN_SALE));
    }

    private static SeckillCommand<Boolean> released(Call<Long> drop) {
        // 2: a hundred held orders were released, and more are held.
        return drop.then(null, (reply, sender) -> reply == 2
                ? released(drop).start(sender)
                : CompletableFuture.completedFuture(reply == 1));
    }

    /**
     * Makes a held order sold: its user has paid. Without the reference of the payment, one that is
     * late or the second leaves no record.
     */
    public static SeckillCommand<Confirmation> confirm(OrderRef order) {
        return ofOrder("SECKILL.CONFIRM", Confirmation.class, order);
    }

    /**
     * Makes a held order sold, and records the payment, whatever the answer is. Fails as {@link
     * SeckillException.Code#REF} if it is on record for another order or sale.
     *
     * @param paymentRef the payment's reference, as its provider gave it
     */
    public static SeckillCommand<Confirmation> confirm(OrderRef order, String paymentRef) {
        return payment(order, paymentRef);
    }

    /**
     * The same, if the payment is for all units of the order: {@link Confirmation#NO_ORDER} if it
     * has more, which then stays held. If it has fewer, since some were released while the user
     * paid, the entry says how many were paid. Fails as {@link SeckillException.Code#UNITS} if the
     * payment is on record for another number.
     *
     * @param units how many units the payment is for
     */
    public static SeckillCommand<Confirmation> confirm(
            OrderRef order, String paymentRef, long units) {
        return payment(order, paymentRef).option("UNITS", Args.units(units));
    }

    private static Call<Confirmation> payment(OrderRef order, String paymentRef) {
        return ofOrder("SECKILL.CONFIRM", Confirmation.class, order)
                .option("REF", Args.text(paymentRef, "paymentRef"));
    }

    /**
     * Makes a payment that was answered {@link Confirmation#NO_ORDER} one to refund: it buys
     * nothing from now on, and is announced as late. What had become final before stays so: refund
     * it only if the answer is one to {@link Confirmation#refund}.
     */
    public static SeckillCommand<Confirmation> recordRefund(OrderRef order, String paymentRef) {
        return payment(order, paymentRef).with("REFUND");
    }

    /**
     * Releases an order's units, once, whether it is held or sold. On an unmanaged voucher it takes
     * the user out of the buyers, and is sent once.
     *
     * @param more what else is said of the units, of a managed voucher
     */
    public static SeckillCommand<Cancellation> cancel(OrderRef order, Release... more) {
        Call<Cancellation> call = cancellation(order, more);
        return order.sale() == null && more.length == 0 ? call.repeat(Repeat.IF_MANAGED) : call;
    }

    /**
     * Releases the units of an order of a managed voucher if it is in this state.
     *
     * @param state {@link Order.State#HELD} or {@link Order.State#SOLD}
     */
    public static SeckillCommand<Cancellation> cancelIf(OrderRef order, Order.State state) {
        if (state != Order.State.HELD && state != Order.State.SOLD) {
            throw new IllegalArgumentException("state must be HELD or SOLD: " + state);
        }
        return cancellation(order).option("IF", state.name().toLowerCase(Locale.ROOT));
    }

    /**
     * Releases the units of an order of a managed voucher if it was paid with this payment: with
     * {@link Release#REFUNDED} no other one is taken for refunded.
     */
    public static SeckillCommand<Cancellation> cancelPaidBy(
            OrderRef order, String paymentRef, Release... more) {
        return cancellation(order, more).option("REF", Args.text(paymentRef, "paymentRef"));
    }

    /**
     * Releases all units but these of an order of a managed voucher. It stays held or sold.
     *
     * @param units how many it is to keep, at least 1
     */
    public static SeckillCommand<Cancellation> cancelAllBut(
            OrderRef order, long units, Release... more) {
        return cancellation(order, more).option("KEEP", Args.units(units));
    }

    private static Call<Cancellation> cancellation(OrderRef order, Release... more) {
        return ofOrder("SECKILL.CANCEL", Cancellation.class, order)
                .with(Stream.of(Args.present(more, "release")).distinct()
                        .map(release -> Args.present(release, "release").name())
                        .toArray(String[]::new));
    }

    /** Moves the deadline of a held order to this long from now, never to an earlier one. */
    public static SeckillCommand<Extension> extend(OrderRef order, Duration time) {
        String millis = String.valueOf(Args.millis(time, "time"));
        return ofOrder("SECKILL.EXTEND", Extension.class, order, millis);
    }

    private static <E extends Enum<E>> Call<E> ofOrder(
            String name, Class<E> result, OrderRef order, String... more) {
        Args.present(order, "order");
        return Call.of(
                        name, Replies.code(result), named(order.voucher()),
                        Args.text(order.user(), "user"), Args.text(order.orderId(), "orderId"))
                .with(more).option("SALE", order.sale());
    }

    private static String named(@Nullable String voucher) {
        return Args.text(voucher, "voucher");
    }

    /** Where an order of a managed voucher stands, if there is one. */
    public static SeckillCommand<Optional<Order>> order(String voucher, String orderId) {
        String id = Args.text(orderId, "orderId");
        return Call.of("SECKILL.ORDER", Replies::order, named(voucher), id);
    }

    /** What a user has of a voucher, if anything. */
    public static SeckillCommand<Optional<BuyerStatus>> status(String voucher, String user) {
        String who = Args.text(user, "user");
        return Call.of("SECKILL.STATUS", Replies::status, named(voucher), who);
    }

    /** How the sale of a voucher stands. */
    public static SeckillCommand<SaleInfo> info(String voucher) {
        return Call.of("SECKILL.INFO", Replies::info, named(voucher));
    }

    /**
     * Adds up the book of a managed voucher and compares it with its other keys, in short steps
     * between which the sale goes on.
     */
    public static SeckillCommand<SaleAudit> audit(String voucher) {
        return audit(named(voucher), "0");
    }

    private static SeckillCommand<SaleAudit> audit(String voucher, String cursor) {
        Call<List<?>> part =
                Call.of("SECKILL.AUDIT", Replies::list, voucher, "CURSOR", cursor);
        return part.then(null, (reply, sender) -> {
            String next = Replies.text(reply.get(0));
            return next.equals("0")
                    ? CompletableFuture.completedFuture(Replies.audit(reply.get(1)))
                    : audit(voucher, next).start(sender);
        });
    }

    /**
     * Moves an entry of a stream to its dead letters and releases its order, once; false if it is
     * not pending in that group, as after an earlier rejection.
     */
    public static SeckillCommand<Boolean> reject(
            String stream, String group, String entryId, String reason) {
        return Call.of(
                "SECKILL.REJECT", Replies::flag, Args.text(stream, "stream"),
                Args.text(group, "group"), Args.text(entryId, "entryId"), "REASON",
                Args.present(reason, "reason"));
    }

    /**
     * Reads dead letters, the oldest first.
     *
     * @param stream the stream that the entries were in, not that of the dead letters
     * @param after only those after this id of a dead letter; {@code 0} for all
     * @param count how many at most
     */
    public static SeckillCommand<List<DeadLetter>> deadLetters(
            String stream, String after, int count) {
        return Call.of(
                "XRANGE", Replies::deadLetters, Args.text(stream, "stream") + ".dlq",
                "(" + Args.text(after, "after"), "+", "COUNT",
                Args.range(count, "count", 1, Integer.MAX_VALUE));
    }

    /** Makes an id, a decimal number of at most 63 bits, that never repeats under its prefix. */
    public static SeckillCommand<String> nextId(String prefix) {
        return Call.of("SECKILL.NEXTID", Replies::text, Args.text(prefix, "prefix"));
    }

    /**
     * Takes units, at least 1, from a bare stock, and replies the stock before, 1 if it is
     * unlimited. If it is smaller, it replies 0, and -1 if the key does not exist; nothing changes
     * then. Sent once.
     */
    public static SeckillCommand<Long> deduct(String key, long units) {
        return bare("SECKILL.DEDUCT", key, units);
    }

    /**
     * Puts units, at least 1, back into a bare stock, and replies the stock with them; -1 when the
     * key does not exist or is unlimited. Sent once.
     */
    public static SeckillCommand<Long> returnUnits(String key, long units) {
        return bare("SECKILL.RETURN", key, units);
    }

    private static Call<Long> bare(String name, String key, long units) {
        return Call.of(name, Replies::integer, Args.text(key, "key"), Args.units(units))
                .repeat(Repeat.NEVER);
    }

    /** Draws a prize code for a user, or tells the one that they have. */
    public static SeckillCommand<Prize> draw(String pool, String user) {
        return ofPool("SECKILL.DRAW", Replies::prize, pool, user);
    }

    /** Puts a user's prize code back. Replies false if the user has none. Sent once. */
    public static SeckillCommand<Boolean> undraw(String pool, String user) {
        return ofPool("SECKILL.UNDRAW", Replies::flag, pool, user).repeat(Repeat.NEVER);
    }

    private static <T> Call<T> ofPool(
            String name, Function<@Nullable Object, T> reader, String pool, String user) {
        return Call.of(name, reader, Args.text(pool, "pool"), Args.text(user, "user"));
    }

    /**
     * Takes a lock for this long if it is free, for code that acquires in one thread and releases
     * in another. Nobody renews it, and it is not tied to a connection; {@link SeckillLock} is.
     *
     * @param token names the holder: another for each acquisition, and the same for its repetition
     */
    public static SeckillCommand<Boolean> acquire(String key, String token, Duration lease) {
        return Call.of(
                "LOCK.ACQUIRE", Replies::flag, Args.text(key, "key"), Args.text(token, "token"),
                Args.millis(lease, "lease"));
    }

    static Call<Long> acquire(String key, String token, LockOptions options, long waitMs) {
        return Call.of("LOCK.ACQUIRE", Replies::integer, key, token, options.lease().toMillis())
                .option("BLOCK", waitMs > 0 ? waitMs : null).flag("FENCE", options.fenced())
                .flag("SESSION", options.session());
    }

    static Call<Boolean> renew(String key, String token, Duration lease) {
        return Call.of("LOCK.RENEW", Replies::flag, key, token, lease.toMillis());
    }

    /** Releases a lock if this token holds it, in whichever thread. */
    public static SeckillCommand<Boolean> release(String key, String token) {
        return releaseOf(Args.text(key, "key"), Args.text(token, "token"));
    }

    static Call<Boolean> releaseOf(String key, String token) {
        return Call.of("LOCK.RELEASE", Replies::flag, key, token);
    }
}
