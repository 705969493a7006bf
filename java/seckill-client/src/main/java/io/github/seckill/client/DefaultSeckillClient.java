package io.github.seckill.client;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;

/** Waits for what the asynchronous client does, and owns what all of it shares. */
final class DefaultSeckillClient implements SeckillClient {
    private final SeckillTransport transport;
    private final ScheduledThreadPoolExecutor timer;
    private final Tries tries;
    private final DefaultAsyncClient async;
    private final Locks locks;

    DefaultSeckillClient(
            SeckillTransport transport, SeckillOptions options, SeckillObserver observer) {
        this.transport = transport;
        this.timer = new ScheduledThreadPoolExecutor(1, DefaultSeckillClient::timerThread);
        timer.setRemoveOnCancelPolicy(true);
        Sender sender = new Sender(transport, options, observer, timer);
        Coalescer coalescer =
                options.coalescing() == Coalescing.OFF || options.batchMax() == 1
                        ? null
                        : new Coalescer(sender, options, observer, timer);
        this.tries = new Tries(sender, observer, SoldOutMemory.of(transport, options), coalescer);
        this.async = new DefaultAsyncClient(sender, tries);
        this.locks = new Locks(transport, sender, options, timer);
    }

    private static Thread timerThread(Runnable work) {
        Thread thread = new Thread(work, "seckill-timer");
        thread.setDaemon(true);
        return thread;
    }

    @Override
    public SeckillAsyncClient async() {
        return async;
    }

    @Override
    public <T> Publisher<T> publish(
            Function<? super SeckillAsyncClient, ? extends CompletionStage<? extends @Nullable T>>
                    command) {
        return new FuturePublisher<>(() -> command.apply(async).toCompletableFuture());
    }

    @Override
    public Outcome tryBuy(String voucher, String user, String orderId) {
        return await(async.tryBuy(voucher, user, orderId));
    }

    @Override
    public Outcome tryBuy(String voucher, String user, String orderId, long units) {
        return await(async.tryBuy(voucher, user, orderId, units));
    }

    @Override
    public Purchase tryBuy(String voucher, String user) {
        return await(async.tryBuy(voucher, user));
    }

    @Override
    public List<AttemptResult> tryAll(String voucher, List<Attempt> attempts) {
        return await(async.tryAll(voucher, attempts));
    }

    @Override
    public Reservation reserve(String voucher, String user, String orderId, long units) {
        return await(async.reserve(voucher, user, orderId, units));
    }

    @Override
    public Outcome tryKeys(KeyedTry attempt) {
        return await(async.tryKeys(attempt));
    }

    @Override
    public void create(String voucher, long stock, SaleRules rules) {
        await(async.create(voucher, stock, rules));
    }

    @Override
    public void adopt(String voucher, SaleRules rules) {
        await(async.adopt(voucher, rules));
    }

    @Override
    public void alter(String voucher, SaleRules rules) {
        await(async.alter(voucher, rules));
    }

    @Override
    public long restock(String voucher, long delta) {
        return await(async.restock(voucher, delta));
    }

    @Override
    public DropResult drop(String voucher) {
        return await(async.drop(voucher));
    }

    @Override
    public DropResult releaseAndDrop(String voucher) {
        return await(async.releaseAndDrop(voucher));
    }

    @Override
    public Confirmation confirm(OrderRef order) {
        return await(async.confirm(order));
    }

    @Override
    public Confirmation confirm(OrderRef order, String paymentRef) {
        return await(async.confirm(order, paymentRef));
    }

    @Override
    public Cancellation cancel(OrderRef order) {
        return await(async.cancel(order));
    }

    @Override
    public Cancellation cancelIf(OrderRef order, OrderState state) {
        return await(async.cancelIf(order, state));
    }

    @Override
    public Extension extend(OrderRef order, Duration time) {
        return await(async.extend(order, time));
    }

    @Override
    public Optional<Order> order(String voucher, String orderId) {
        return await(async.order(voucher, orderId));
    }

    @Override
    public Optional<BuyerStatus> status(String voucher, String user) {
        return await(async.status(voucher, user));
    }

    @Override
    public SaleInfo info(String voucher) {
        return await(async.info(voucher));
    }

    @Override
    public SaleAudit audit(String voucher) {
        return await(async.audit(voucher));
    }

    @Override
    public boolean reject(String stream, String group, String entryId, String reason) {
        return await(async.reject(stream, group, entryId, reason));
    }

    @Override
    public List<DeadLetter> deadLetters(String stream, String after, int count) {
        return await(async.deadLetters(stream, after, count));
    }

    @Override
    public String nextId(String prefix) {
        return await(async.nextId(prefix));
    }

    @Override
    public List<String> nextIds(String prefix, int count) {
        return await(async.nextIds(prefix, count));
    }

    @Override
    public Deduction deduct(String key, long units) {
        return await(async.deduct(key, units));
    }

    @Override
    public long restore(String key, long units) {
        return await(async.restore(key, units));
    }

    @Override
    public Prize draw(String pool, String user) {
        return await(async.draw(pool, user));
    }

    @Override
    public boolean undraw(String pool, String user) {
        return await(async.undraw(pool, user));
    }

    @Override
    public SeckillLock lock(String key, LockOptions options) {
        return locks.lock(key, options);
    }

    /**
     * Waits also while the thread is interrupted, since a try that is under way may be accepted.
     * How long it takes at most is bounded by the options.
     */
    private static <T> T await(CompletableFuture<T> result) {
        boolean interrupted = false;
        try {
            while (true) {
                try {
                    return result.get();
                } catch (InterruptedException later) {
                    interrupted = true;
                } catch (ExecutionException failed) {
                    throw Sender.unwrapped(failed).thrownHere();
                } catch (CancellationException cancelled) {
                    throw Sender.unwrapped(cancelled).thrownHere();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void close() {
        locks.close();
        tries.close();
        timer.shutdownNow();
        transport.close();
    }
}
