package io.github.seckill.client;

import java.time.Duration;
import java.util.List;
import org.reactivestreams.Publisher;

/** Publishers of what the asynchronous client does. */
final class DefaultReactiveClient implements SeckillReactiveClient {
    private final DefaultAsyncClient async;

    DefaultReactiveClient(DefaultAsyncClient async) {
        this.async = async;
    }

    @Override
    public Publisher<Outcome> tryBuy(String voucher, String user, String orderId) {
        return new FuturePublisher<>(() -> async.tryBuy(voucher, user, orderId));
    }

    @Override
    public Publisher<Outcome> tryBuy(String voucher, String user, String orderId, long units) {
        return new FuturePublisher<>(() -> async.tryBuy(voucher, user, orderId, units));
    }

    @Override
    public Publisher<Purchase> tryBuy(String voucher, String user) {
        return new FuturePublisher<>(() -> async.tryBuy(voucher, user));
    }

    @Override
    public Publisher<List<AttemptResult>> tryAll(String voucher, List<Attempt> attempts) {
        return new FuturePublisher<>(() -> async.tryAll(voucher, attempts));
    }

    @Override
    public Publisher<Reservation> reserve(String voucher, String user, String orderId, long units) {
        return new FuturePublisher<>(() -> async.reserve(voucher, user, orderId, units));
    }

    @Override
    public Publisher<Outcome> tryKeys(KeyedTry attempt) {
        return new FuturePublisher<>(() -> async.tryKeys(attempt));
    }

    @Override
    public Publisher<Void> create(String voucher, long stock, SaleRules rules) {
        return new FuturePublisher<>(() -> async.create(voucher, stock, rules));
    }

    @Override
    public Publisher<Void> adopt(String voucher, SaleRules rules) {
        return new FuturePublisher<>(() -> async.adopt(voucher, rules));
    }

    @Override
    public Publisher<Void> alter(String voucher, SaleRules rules) {
        return new FuturePublisher<>(() -> async.alter(voucher, rules));
    }

    @Override
    public Publisher<Long> restock(String voucher, long delta) {
        return new FuturePublisher<>(() -> async.restock(voucher, delta));
    }

    @Override
    public Publisher<DropResult> drop(String voucher) {
        return new FuturePublisher<>(() -> async.drop(voucher));
    }

    @Override
    public Publisher<DropResult> releaseAndDrop(String voucher) {
        return new FuturePublisher<>(() -> async.releaseAndDrop(voucher));
    }

    @Override
    public Publisher<Confirmation> confirm(OrderRef order) {
        return new FuturePublisher<>(() -> async.confirm(order));
    }

    @Override
    public Publisher<Confirmation> confirm(OrderRef order, String paymentRef) {
        return new FuturePublisher<>(() -> async.confirm(order, paymentRef));
    }

    @Override
    public Publisher<Cancellation> cancel(OrderRef order) {
        return new FuturePublisher<>(() -> async.cancel(order));
    }

    @Override
    public Publisher<Cancellation> cancelIf(OrderRef order, OrderState state) {
        return new FuturePublisher<>(() -> async.cancelIf(order, state));
    }

    @Override
    public Publisher<Extension> extend(OrderRef order, Duration time) {
        return new FuturePublisher<>(() -> async.extend(order, time));
    }

    @Override
    public Publisher<Order> order(String voucher, String orderId) {
        return new FuturePublisher<>(
                () -> async.order(voucher, orderId).thenApply(found -> found.orElse(null)));
    }

    @Override
    public Publisher<BuyerStatus> status(String voucher, String user) {
        return new FuturePublisher<>(
                () -> async.status(voucher, user).thenApply(found -> found.orElse(null)));
    }

    @Override
    public Publisher<SaleInfo> info(String voucher) {
        return new FuturePublisher<>(() -> async.info(voucher));
    }

    @Override
    public Publisher<SaleAudit> audit(String voucher) {
        return new FuturePublisher<>(() -> async.audit(voucher));
    }

    @Override
    public Publisher<Boolean> reject(String stream, String group, String entryId, String reason) {
        return new FuturePublisher<>(() -> async.reject(stream, group, entryId, reason));
    }

    @Override
    public Publisher<List<DeadLetter>> deadLetters(String stream, String after, int count) {
        return new FuturePublisher<>(() -> async.deadLetters(stream, after, count));
    }

    @Override
    public Publisher<String> nextId(String prefix) {
        return new FuturePublisher<>(() -> async.nextId(prefix));
    }

    @Override
    public Publisher<List<String>> nextIds(String prefix, int count) {
        return new FuturePublisher<>(() -> async.nextIds(prefix, count));
    }

    @Override
    public Publisher<Deduction> deduct(String key, long units) {
        return new FuturePublisher<>(() -> async.deduct(key, units));
    }

    @Override
    public Publisher<Long> restore(String key, long units) {
        return new FuturePublisher<>(() -> async.restore(key, units));
    }

    @Override
    public Publisher<Prize> draw(String pool, String user) {
        return new FuturePublisher<>(() -> async.draw(pool, user));
    }

    @Override
    public Publisher<Boolean> undraw(String pool, String user) {
        return new FuturePublisher<>(() -> async.undraw(pool, user));
    }
}
