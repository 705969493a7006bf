package io.github.seckill.client;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Every command, sent and read. */
final class DefaultAsyncClient implements SeckillAsyncClient {
    private static final Function<@Nullable Object, @Nullable Void> NOTHING = reply -> null;

    private final Sender sender;
    private final Tries tries;

    DefaultAsyncClient(Sender sender, Tries tries) {
        this.sender = sender;
        this.tries = tries;
    }

    @Override
    public CompletableFuture<Outcome> tryBuy(String voucher, String user, String orderId) {
        return tries.one(voucher, user, orderId, 1);
    }

    @Override
    public CompletableFuture<Outcome> tryBuy(
            String voucher, String user, String orderId, long units) {
        return tries.one(voucher, user, orderId, units);
    }

    @Override
    public CompletableFuture<Purchase> tryBuy(String voucher, String user) {
        return tries.withIdOfServer(voucher, user);
    }

    @Override
    public CompletableFuture<List<AttemptResult>> tryAll(String voucher, List<Attempt> attempts) {
        return tries.many(voucher, attempts);
    }

    @Override
    public CompletableFuture<Reservation> reserve(
            String voucher, String user, String orderId, long units) {
        return tries.one(voucher, user, orderId, units)
                .thenCompose(
                        outcome ->
                                switch (outcome) {
                                    case ACCEPTED -> reserved(voucher, orderId);
                                    case UNKNOWN -> done(new Reservation.Unknown());
                                    default -> done(new Reservation.Refused(outcome));
                                });
    }

    @Override
    public CompletableFuture<Outcome> tryKeys(KeyedTry attempt) {
        return tries.keys(attempt);
    }

    @Override
    public CompletableFuture<@Nullable Void> create(String voucher, long stock, SaleRules rules) {
        return sender.call(Commands.create(voucher, Long.toString(stock), rules), NOTHING);
    }

    @Override
    public CompletableFuture<@Nullable Void> adopt(String voucher, SaleRules rules) {
        return sender.call(Commands.create(voucher, "ADOPT", rules), NOTHING);
    }

    @Override
    public CompletableFuture<@Nullable Void> alter(String voucher, SaleRules rules) {
        return sender.call(Commands.alter(voucher, rules), NOTHING);
    }

    @Override
    public CompletableFuture<Long> restock(String voucher, long delta) {
        return sender.call(Commands.restock(voucher, delta), Replies::integer);
    }

    @Override
    public CompletableFuture<DropResult> drop(String voucher) {
        return sender.call(Commands.drop(voucher, false), DefaultAsyncClient::dropped);
    }

    @Override
    public CompletableFuture<DropResult> releaseAndDrop(String voucher) {
        return sender.call(Commands.drop(voucher, true), DefaultAsyncClient::dropped);
    }

    @Override
    public CompletableFuture<Confirmation> confirm(OrderRef order) {
        return sender.call(Commands.confirm(order), DefaultAsyncClient::confirmation);
    }

    @Override
    public CompletableFuture<Confirmation> confirm(OrderRef order, String paymentRef) {
        return sender.call(
                Commands.confirm(order, paymentRef), DefaultAsyncClient::confirmation);
    }

    @Override
    public CompletableFuture<Cancellation> cancel(OrderRef order) {
        return sender.callIfManaged(Commands.cancel(order), order.voucher(), () -> {})
                .thenApply(DefaultAsyncClient::cancellation);
    }

    @Override
    public CompletableFuture<Cancellation> cancelIf(OrderRef order, OrderState state) {
        return sender.call(Commands.cancelIf(order, state), DefaultAsyncClient::cancellation);
    }

    @Override
    public CompletableFuture<Extension> extend(OrderRef order, Duration time) {
        return sender.call(
                Commands.extend(order, time), reply -> Extension.of(Replies.integer(reply)));
    }

    @Override
    public CompletableFuture<Optional<Order>> order(String voucher, String orderId) {
        return sender.call(Commands.order(voucher, orderId), Replies::order);
    }

    @Override
    public CompletableFuture<Optional<BuyerStatus>> status(String voucher, String user) {
        return sender.call(Commands.status(voucher, user), Replies::status);
    }

    @Override
    public CompletableFuture<SaleInfo> info(String voucher) {
        return sender.call(Commands.info(voucher), Replies::info);
    }

    @Override
    public CompletableFuture<SaleAudit> audit(String voucher) {
        return audit(voucher, "0");
    }

    @Override
    public CompletableFuture<Boolean> reject(
            String stream, String group, String entryId, String reason) {
        return sender.call(Commands.reject(stream, group, entryId, reason), Replies::flag);
    }

    @Override
    public CompletableFuture<List<DeadLetter>> deadLetters(String stream, String after, int count) {
        return sender.call(Commands.deadLetters(stream, after, count), Replies::deadLetters);
    }

    @Override
    public CompletableFuture<String> nextId(String prefix) {
        return nextIds(prefix, 1).thenApply(ids -> ids.get(0));
    }

    @Override
    public CompletableFuture<List<String>> nextIds(String prefix, int count) {
        return sender.call(Commands.nextIds(prefix, count), reply -> Replies.ids(reply, count));
    }

    @Override
    public CompletableFuture<Deduction> deduct(String key, long units) {
        return sender.call(Commands.deduct(key, Args.units(units)), Replies::deduction)
                .exceptionally(
                        failure -> {
                            SeckillException said = Sender.unwrapped(failure);
                            if (said instanceof SeckillException.NoAnswer) {
                                return new Deduction.Unknown();
                            }
                            throw said;
                        });
    }

    @Override
    public CompletableFuture<Long> restore(String key, long units) {
        return sender.call(Commands.restore(key, Args.units(units)), Replies::integer);
    }

    @Override
    public CompletableFuture<Prize> draw(String pool, String user) {
        return sender.call(Commands.draw(pool, user), Replies::prize);
    }

    @Override
    public CompletableFuture<Boolean> undraw(String pool, String user) {
        return sender.call(Commands.undraw(pool, user), Replies::flag);
    }

    /** The order was accepted, now or before: what has become of it says the book. */
    private CompletableFuture<Reservation> reserved(String voucher, String orderId) {
        return sender.call(Commands.order(voucher, orderId), Replies::order)
                .handle(
                        (found, failure) -> {
                            if (failure != null) {
                                SeckillException said = Sender.unwrapped(failure);
                                if (said instanceof SeckillException.NoAnswer) {
                                    return new Reservation.Unknown();
                                }
                                throw said;
                            }
                            return reservation(orderId, found.orElse(null));
                        });
    }

    private static Reservation reservation(String orderId, @Nullable Order order) {
        if (order == null) {
            // An unmanaged voucher has no book: what is accepted there is sold.
            return new Reservation.Sold(orderId, 1);
        }
        Instant deadline = order.deadline();
        if (order.state() == OrderState.HELD && deadline != null) {
            return new Reservation.Held(orderId, order.units(), deadline);
        }
        return order.state() == OrderState.SOLD
                ? new Reservation.Sold(orderId, order.units())
                : new Reservation.Refused(Outcome.RELEASED);
    }

    private static CompletableFuture<Reservation> done(Reservation reservation) {
        return CompletableFuture.completedFuture(reservation);
    }

    private CompletableFuture<SaleAudit> audit(String voucher, String cursor) {
        return sender.call(Commands.audit(voucher, cursor), Replies::list)
                .thenCompose(
                        step -> {
                            String next = Replies.text(step.get(0));
                            return next.equals("0")
                                    ? CompletableFuture.completedFuture(Replies.audit(step.get(1)))
                                    : audit(voucher, next);
                        });
    }

    private static DropResult dropped(@Nullable Object reply) {
        return DropResult.of(Replies.integer(reply));
    }

    private static Confirmation confirmation(@Nullable Object reply) {
        return Confirmation.of(Replies.integer(reply));
    }

    private static Cancellation cancellation(@Nullable Object reply) {
        return Cancellation.of(Replies.integer(reply));
    }
}
