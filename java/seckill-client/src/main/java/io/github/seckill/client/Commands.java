package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
import io.github.seckill.client.Try.Bought;
import java.time.Duration;
import java.time.Instant;
import java.util.*;
import java.util.function.Function;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The commands of the module, for {@link SeckillClient#run} and {@link SeckillClient#start}. Meant
 * to be imported statically: {@code seckill.run(confirm(order))}.
 *
 * <p>A command without an answer is sent again unless it says otherwise here. One that is <b>sent
 * once</b> fails as {@link SeckillException.NoAnswer} then, or has a value for that.
 */
public final class Commands extends OtherCommands {
    private static final int TRIES_MAX = 1_024;
    private static final int ARTICLES_MAX = 32;

    private Commands() {}

    /**
     * Tries to buy one unit. Sent again only if the voucher is managed, else {@link
     * Outcome#UNKNOWN}.
     *
     * @param orderId the id of the order that an accepted try makes: another for each purchase, and
     *     the same for each repetition of it; not {@code *}
     */
    public static Try<Outcome> tryBuy(String voucher, String user, String orderId) {
        return tryBuy(voucher, user, orderId, 1);
    }

    /** Tries to buy units, all of them or none. Never coalesced if more than one. */
    public static Try<Outcome> tryBuy(String voucher, String user, String orderId, long units) {
        Args.orderId(orderId);
        Args.units(units);
        return new Try<>(
                voucher, user, orderId,
                tryOne(voucher, user, orderId).option("UNITS", units == 1 ? null : units),
                units == 1, Bought::outcome);
    }

    /**
     * Tries to buy one unit and has the server make the order id, if it accepts. Sent once, and
     * else {@link Purchase.Unknown}: {@link #status} tells what the user of a managed voucher has.
     */
    public static Try<Purchase> tryBuy(String voucher, String user) {
        String id = Try.ID_OF_SERVER;
        Call<Bought> call = tryOne(voucher, user, id).repeat(Repeat.NEVER);
        return new Try<>(voucher, user, id, call, true, Replies::purchase);
    }

    private static Call<Bought> tryOne(String voucher, String user, String orderId) {
        Args.text(user, "user");
        return Call.of("SECKILL.TRY", Replies::bought, named(voucher), user, orderId)
                .repeat(Repeat.IF_MANAGED).unanswered(Bought.UNKNOWN);
    }

    /**
     * Tries many purchases of one unit in one command, each decided by itself in the given order.
     * Sent again only if the voucher is managed.
     *
     * @param attempts at least 1 and at most 1,024
     */
    public static SeckillCommand<List<AttemptResult>> tryAll(String voucher, List<Attempt> attempts) {
        Args.range(Args.present(attempts, "attempts").size(), "attempts", 1, TRIES_MAX);
        named(voucher);
        List<String> pairs = new ArrayList<>(2 * attempts.size());
        for (Attempt attempt : attempts) {
            pairs.add(attempt.user());
            pairs.add(attempt.orderId());
        }
        AttemptResult unknown = new AttemptResult.Decided(Outcome.UNKNOWN);
        return tryMany(voucher, pairs, Replies::attempt, unknown).repeat(Repeat.IF_MANAGED);
    }

    /**
     * Tries to buy several articles in one order, all of them or none. Never coalesced, and sent
     * again. In a cluster all vouchers are of one slot.
     *
     * @param orderId the id of the order of each article, the same for each repetition
     * @param articles at least 1 and at most 32, no voucher twice
     */
    public static SeckillCommand<CartResult> tryAll(
            String user, String orderId, List<Article> articles) {
        int size = Args.present(articles, "articles").size();
        Args.range(size, "articles", 1, ARTICLES_MAX);
        List<String> all = new ArrayList<>(2 * size + 2);
        for (Article article : articles) {
            all.add(article.voucher());
            all.add(Long.toString(article.units()));
        }
        all.add(Args.text(user, "user"));
        all.add(Args.orderId(orderId));
        Function<@Nullable Object, CartResult> reader = reply -> new CartResult(
                Replies.each(reply, size, code -> Outcome.of(Replies.integer(code))));
        return Call.of("SECKILL.TRYALL", reader, all.toArray())
                .unanswered(new CartResult(Collections.nCopies(size, Outcome.UNKNOWN)));
    }

    /** Tries pairs of a user and an order id, and reads the result of each. */
    static <T> Call<List<T>> tryMany(
            String voucher, List<String> pairs, Function<@Nullable Object, T> result,
            T unanswered) {
        int size = pairs.size() / 2;
        return Call.of("SECKILL.MTRY", reply -> Replies.each(reply, size, result), voucher)
                .with(pairs.toArray(String[]::new)).repeat(Repeat.NEVER)
                .unanswered(Collections.nCopies(size, unanswered));
    }

    /**
     * Reserves what a try on a managed voucher buys, which may wait in line: {@link Try#waitlist}.
     * An accepted try asks the server a second time, for the deadline.
     */
    public static SaleCommand<Reservation> reserve(Try<Outcome> attempt) {
        return Args.present(attempt, "attempt").then(outcome -> switch (outcome) {
            case ACCEPTED, WAITING -> reserved(attempt.voucher, attempt.orderId);
            case UNKNOWN -> SaleCommand.value(new Reservation.Unknown());
            default -> SaleCommand.value(new Reservation.Refused(outcome));
        }, new Reservation.Unknown());
    }

    /** Tries to buy one unit of a managed voucher and says until when it must be paid. */
    public static SaleCommand<Reservation> reserve(String voucher, String user, String orderId) {
        return reserve(tryBuy(voucher, user, orderId));
    }

    /** The order is on record, now or since an earlier try: the book says where it stands. */
    private static SeckillCommand<Reservation> reserved(String voucher, String orderId) {
        Function<@Nullable Object, Reservation> reader =
                reply -> Replies.reservation(orderId, Replies.order(reply));
        return Call.of("SECKILL.ORDER", reader, voucher, orderId)
                .unanswered(new Reservation.Unknown());
    }

    /** Tries to buy of an unmanaged voucher whose keys are spelled out. Sent once. */
    public static SeckillCommand<Outcome> tryKeys(KeyedTry attempt) {
        String stream = attempt.orderStream();
        KeyedTry.Fields fields = attempt.fields();
        Call<Bought> call = Call.of(
                        "SECKILL.TRYKEYS", Replies::bought, attempt.stockKey(),
                        attempt.buyersKey(), stream == null ? attempt.stockKey() : stream,
                        attempt.voucher(), attempt.user(), attempt.orderId())
                .option("UNITS", attempt.units() == 1 ? null : attempt.units())
                .flag("NOSTREAM", stream == null).repeat(Repeat.NEVER).unanswered(Bought.UNKNOWN);
        if (fields != null) {
            call = call.with("FIELDS", fields.user(), fields.voucher(), fields.orderId());
        }
        call = call.option("MISSING", attempt.missingIsSoldOut() ? "sold-out" : null);
        return new Try<>(
                attempt.voucher(), attempt.user(), attempt.orderId(), call, false,
                Bought::outcome);
    }

    /** Makes a managed voucher. Sent once; {@link #info} tells. */
    public static SeckillCommand<Void> create(String voucher, long stock, SaleRules rules) {
        Args.range(stock, "stock", 0, Long.MAX_VALUE);
        return ruled(Call.of("SECKILL.CREATE", Replies::nothing, named(voucher), stock), rules)
                .repeat(Repeat.NEVER);
    }

    /**
     * Makes a voucher managed whose stock key is set and which has no buyers yet. Sent once. Not
     * before every instance passes an order id of its own: a managed voucher sells it once.
     */
    public static SeckillCommand<Void> adopt(String voucher, SaleRules rules) {
        return ruled(Call.of("SECKILL.CREATE", Replies::nothing, named(voucher), "ADOPT"), rules)
                .repeat(Repeat.NEVER);
    }

    /** Changes rules of a managed voucher, also while it sells; at least one rule. */
    public static SaleCommand<Void> alter(String voucher, SaleRules rules) {
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
     * Adds units to stock and total of a managed voucher, or removes some, and replies the units
     * left. Sent once, since a repetition would add twice: {@link #restockTo} is sent again.
     *
     * @param delta how many units to add; negative to remove
     */
    public static SaleCommand<Long> restock(String voucher, long delta) {
        return Call.of("SECKILL.RESTOCK", Replies::integer, named(voucher), delta)
                .repeat(Repeat.NEVER);
    }

    /**
     * Adds units, or removes them if negative, for an order that the book lacks and that its
     * customer has all the same. Noted with the order, so that a repetition changes nothing.
     *
     * @param sale the sale of the order
     */
    public static SeckillCommand<Long> restockFor(String voucher, long delta, String orderId, long sale) {
        return Call.of(
                "SECKILL.RESTOCK", Replies::integer, named(voucher), delta, "FOR",
                Args.text(orderId, "orderId")).inSale(sale);
    }

    /** Adds or removes as many units as the total takes to be this, and replies the units left. */
    public static SaleCommand<Long> restockTo(String voucher, long total) {
        Args.range(total, "total", 0, Long.MAX_VALUE);
        return Call.of("SECKILL.RESTOCK", Replies::integer, named(voucher), "TOTAL", total);
    }

    /**
     * Removes every key of a voucher, and no stream. Fails as {@link SeckillException.Code#HELD}
     * while orders are held. Sent once, unless the sale is named.
     */
    public static SaleCommand<DropResult> drop(String voucher) {
        return Call.of("SECKILL.DROP", Replies.code(DropResult.class), named(voucher))
                .repeat(Repeat.IN_SALE);
    }

    /**
     * Removes every key of a voucher after its held orders were released, at most a hundred of them
     * in one call. Sent once, unless the sale is named.
     */
    public static SaleCommand<DropResult> releaseAndDrop(String voucher) {
        return Call.of("SECKILL.DROP", Replies.code(DropResult.class), named(voucher), "FORCE")
                .repeat(Repeat.IN_SALE);
    }

    /**
     * Makes a held order sold: its user has paid. Without the reference of the payment, one that is
     * late or the second leaves no record.
     */
    public static SeckillCommand<Confirmation> confirm(OrderRef order) {
        return ofOrder("SECKILL.CONFIRM", Replies.code(Confirmation.class), order);
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
        return ofOrder("SECKILL.CONFIRM", Replies.code(Confirmation.class), order)
                .option("REF", Args.text(paymentRef, "paymentRef"));
    }

    /**
     * Makes a payment that was answered {@link Confirmation#NO_ORDER} one to refund: it buys
     * nothing from now on, and is announced as late. What had become final before stays so: refund
     * it only if the answer is one to {@link Confirmation#refund}.
     */
    public static SeckillCommand<Confirmation> recordRefund(OrderRef order, String paymentRef) {
        return payment(order, paymentRef).flag("REFUND", true);
    }

    /**
     * Releases an order's units, once, whether it is held or sold. On an unmanaged voucher it takes
     * the user out of the buyers and is sent once.
     */
    public static SeckillCommand<Cancellation> cancel(OrderRef order) {
        Call<Cancellation> call = cancellation(order);
        return order.sale() == null ? call.repeat(Repeat.IF_MANAGED) : call;
    }

    /** Releases the units of an order of a managed voucher, and says more of them. */
    public static SeckillCommand<Cancellation> cancel(OrderRef order, Release... more) {
        return more.length == 0 ? cancel(order) : cancellation(order).with(words(more));
    }

    /**
     * Releases the units of an order of a managed voucher if it is in this state.
     *
     * @param state {@link OrderState#HELD} or {@link OrderState#SOLD}
     */
    public static SeckillCommand<Cancellation> cancelIf(OrderRef order, OrderState state) {
        if (state != OrderState.HELD && state != OrderState.SOLD) {
            throw new IllegalArgumentException("state must be HELD or SOLD: " + state);
        }
        return cancellation(order).option("IF", state.word());
    }

    /**
     * Releases all units but these of an order of a managed voucher. It stays held or sold.
     *
     * @param units how many it is to keep, at least 1
     * @param more what else is said of those released
     */
    public static SeckillCommand<Cancellation> cancelAllBut(
            OrderRef order, long units, Release... more) {
        return cancellation(order).option("KEEP", Args.units(units)).with(words(more));
    }

    private static String[] words(Release... more) {
        return Stream.of(more).distinct().map(Release::name).toArray(String[]::new);
    }

    private static Call<Cancellation> cancellation(OrderRef order) {
        return ofOrder("SECKILL.CANCEL", Replies.code(Cancellation.class), order);
    }

    /** Moves the deadline of a held order to this long from now, never to an earlier one. */
    public static SeckillCommand<Extension> extend(OrderRef order, Duration time) {
        String millis = Long.toString(Args.millis(time, "time"));
        return ofOrder("SECKILL.EXTEND", Replies.code(Extension.class), order, millis);
    }

    private static <T> Call<T> ofOrder(
            String name, Function<@Nullable Object, T> reader, OrderRef order, String... more) {
        Args.present(order, "order");
        return Call.of(
                        name, reader, named(order.voucher()), Args.text(order.user(), "user"),
                        Args.text(order.orderId(), "orderId"))
                .with(more).option("SALE", order.sale());
    }

    private static String named(@Nullable String voucher) {
        return Args.text(voucher, "voucher");
    }

    /** Where an order of a managed voucher stands, if there is one. */
    public static SeckillCommand<Optional<Order>> order(String voucher, String orderId) {
        Args.text(orderId, "orderId");
        return Call.of("SECKILL.ORDER", Replies::order, named(voucher), orderId);
    }

    /** What a user has of a voucher, if anything. */
    public static SeckillCommand<Optional<BuyerStatus>> status(String voucher, String user) {
        Args.text(user, "user");
        return Call.of("SECKILL.STATUS", Replies::status, named(voucher), user);
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
        return Call.of("SECKILL.AUDIT", Replies::list, voucher, "CURSOR", cursor).then(step -> {
            String next = Replies.text(step.get(0));
            return next.equals("0")
                    ? SaleCommand.value(Replies.audit(step.get(1)))
                    : audit(voucher, next);
        }, null);
    }
}
