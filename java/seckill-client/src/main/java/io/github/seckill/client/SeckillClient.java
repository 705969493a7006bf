package io.github.seckill.client;

import io.github.seckill.client.Cancellation.Release;
import io.lettuce.core.AbstractRedisClient;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Sells, pays, looks and locks on a server that has the seckill module: each method of {@link
 * Commands} is a method here, too, which waits for the reply. Thread-safe; one per application.
 *
 * <p>It opens connections of its own when they are needed: one for all commands, and one for each
 * holder of a lock and for each waiter.
 *
 * <p><b>What is answered and what is thrown.</b> What a buyer can run into is returned. A mistake
 * is thrown as a {@link SeckillException}, whose code says which.
 *
 * <p><b>No answer in time.</b> A command that may be repeated is sent again, the same to the byte,
 * until {@link SeckillOptions#retryFor}: so are tries on managed vouchers, by their order id. A try
 * on an unmanaged voucher is sent once, and without an answer it is {@link Outcome#UNKNOWN}. Which
 * of the two a voucher is, the client asks the server after the time-out. Other commands that can't
 * be repeated throw {@link SeckillException.NoAnswer}.
 */
public class SeckillClient implements AutoCloseable {
    private final Connections connections;
    private final SeckillOptions options;
    private final ScheduledThreadPoolExecutor timer;
    private final Sender sender;
    private final Locks locks;

    /**
     * Makes a client.
     *
     * @param lettuce a RedisClient or RedisClusterClient, perhaps another one after each {@link
     *     #disconnect}. It is not closed with this client, and its options may stay as they are
     */
    public SeckillClient(Supplier<? extends AbstractRedisClient> lettuce, SeckillOptions options) {
        this.options = Args.present(options, "options");
        this.connections = new Connections(Args.present(lettuce, "lettuce"), options);
        this.timer = new ScheduledThreadPoolExecutor(1, work -> {
            Thread thread = new Thread(work, "seckill-timer");
            thread.setDaemon(true);
            return thread;
        });
        timer.setRemoveOnCancelPolicy(true);
        this.sender = new Sender(connections, options, timer);
        this.locks = new Locks(connections, sender, options, timer);
    }

    /** Makes a client with the default options. */
    public static SeckillClient create(AbstractRedisClient lettuce) {
        return create(lettuce, SeckillOptions.defaults());
    }

    public static SeckillClient create(AbstractRedisClient lettuce, SeckillOptions options) {
        return new SeckillClient(() -> lettuce, options);
    }

    /**
     * Runs a command and waits for its reply, for as long as the options say at most.
     *
     * <p>A thread that is interrupted stops waiting, and stays interrupted. What it has sent may be
     * carried out: a try is {@link Outcome#UNKNOWN}, other commands fail as {@link
     * SeckillException.NoAnswer}. One that was interrupted before sends nothing and fails as {@link
     * SeckillException.Busy}.
     *
     * @throws SeckillException a mistake or a failure, never an outcome
     */
    public <T> T run(SeckillCommand<T> command) {
        if (Thread.currentThread().isInterrupted()) {
            throw new SeckillException.Busy("BUSY not sent: the thread is interrupted", null);
        }
        CompletableFuture<T> result = start(command);
        try {
            return result.get();
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            result.cancel(false);
            T unanswered = command.unanswered();
            if (unanswered != null) {
                return unanswered;
            }
            throw new SeckillException.NoAnswer("NOANSWER interrupted", interrupted);
        } catch (ExecutionException | CancellationException failed) {
            throw SeckillException.of(failed).thrownHere();
        }
    }

    /**
     * Runs a command without waiting. The future always completes: with the reply, or with a {@link
     * SeckillException}. If its caller cancels it, or has it time out, nothing is sent again, and
     * what was not sent yet never is; the server still decides what was sent.
     *
     * <p>It completes on a thread of the Redis client: don't block there. With Reactor it is {@code
     * Mono.fromFuture(() -> seckill.start(command))}, sent once for each subscriber.
     */
    public <T> CompletableFuture<T> start(SeckillCommand<T> command) {
        ObservationRegistry registry = options.observations;
        if (registry.isNoop()) {
            return command.start(sender);
        }
        Observed observed = Observed.start(
                registry,
                () -> Observation.createNotStarted("seckill.command", registry)
                        .lowCardinalityKeyValue("command", command.name()),
                broken -> {});
        CompletableFuture<T> result = observed.scoped(() -> command.start(sender));
        result.whenComplete((reply, failure) -> {
            // Prometheus takes a meter only if it has the same tags each time.
            observed.tell(it -> it.lowCardinalityKeyValue("outcome", outcome(reply, failure)));
            if (failure != null) {
                observed.tell(it -> it.error(failure));
            }
            observed.tell(Observation::stop);
        });
        return result;
    }

    private static String outcome(@Nullable Object reply, @Nullable Throwable failure) {
        String word;
        if (failure != null) {
            word = failure instanceof SeckillException said ? said.code().name() : "GIVEN_UP";
        } else if (reply instanceof Purchase purchase) {
            word = purchase.outcome().name();
        } else if (reply instanceof Map<?, ?> cart) {
            // Of one that was not bought, why not.
            word = cart.values().stream()
                    .filter(it -> it != Outcome.ACCEPTED && it != Outcome.NOT_TAKEN)
                    .map(Object::toString).findFirst().orElse(Outcome.ACCEPTED.name());
        } else {
            word = reply instanceof Enum<?> constant ? constant.name() : "none";
        }
        return word.toLowerCase(Locale.ROOT);
    }

    /** How many commands were sent again. */
    public long repeated() {
        return sender.repeated.sum();
    }

    /** How many commands were sent that try to buy: fewer than tries where these travel together. */
    public long tryCommands() {
        return sender.tryCommands.sum();
    }

    /**
     * Asks once whether the server, or each primary of a cluster that has slots, has the module.
     *
     * @return by address, or {@code server} where there is no cluster
     * @throws SeckillException if one can't be asked in time
     */
    public Map<String, Boolean> modules(Duration patience) {
        Args.time(patience, "patience", 1);
        Map<String, Boolean> found = new LinkedHashMap<>();
        connections.keysOfServers(patience).forEach((server, voucher) ->
                found.put(server, hasModule(voucher, patience)));
        return found;
    }

    /** NOVOUCHER is expected. NOPERM comes after the command was found, too. */
    private boolean hasModule(String voucher, Duration patience) {
        try {
            connections.send(Call.of("SECKILL.INFO", Replies::list, voucher), patience).join();
            return true;
        } catch (CompletionException failed) {
            SeckillException said = SeckillException.of(failed);
            if (said instanceof SeckillException.NoAnswer
                    || said instanceof SeckillException.NotNow) {
                throw said.thrownHere();
            }
            return said.code() != SeckillException.Code.NOMODULE;
        }
    }

    // Each runs the command of the same name.

    public Purchase tryBuy(String voucher, String user, String orderId) {
        return run(Commands.tryBuy(voucher, user, orderId));
    }
    public Purchase tryBuy(String voucher, String user, String orderId, long units) {
        return run(Commands.tryBuy(voucher, user, orderId, units));
    }
    public Map<String, Outcome> tryAll(String user, String orderId, Map<String, Long> units) {
        return run(Commands.tryAll(user, orderId, units));
    }
    public Purchase reserve(Try attempt) { return run(Commands.reserve(attempt)); }
    public Purchase reserve(String voucher, String user, String orderId) {
        return run(Commands.reserve(voucher, user, orderId));
    }
    public Confirmation confirm(OrderRef order) { return run(Commands.confirm(order)); }
    public Confirmation confirm(OrderRef order, String paymentRef) {
        return run(Commands.confirm(order, paymentRef));
    }
    public Confirmation confirm(OrderRef order, String paymentRef, long units) {
        return run(Commands.confirm(order, paymentRef, units));
    }
    public Confirmation recordRefund(OrderRef order, String paymentRef) {
        return run(Commands.recordRefund(order, paymentRef));
    }
    public Cancellation cancel(OrderRef order, Release... more) {
        return run(Commands.cancel(order, more));
    }
    public Cancellation cancelIf(OrderRef order, Order.State state) {
        return run(Commands.cancelIf(order, state));
    }
    public Cancellation cancelPaidBy(OrderRef order, String paymentRef, Release... more) {
        return run(Commands.cancelPaidBy(order, paymentRef, more));
    }
    public Cancellation cancelAllBut(OrderRef order, long units, Release... more) {
        return run(Commands.cancelAllBut(order, units, more));
    }
    public Extension extend(OrderRef order, Duration time) {
        return run(Commands.extend(order, time));
    }
    public Optional<Order> order(String voucher, String orderId) {
        return run(Commands.order(voucher, orderId));
    }
    public Optional<BuyerStatus> status(String voucher, String user) {
        return run(Commands.status(voucher, user));
    }
    public SaleInfo info(String voucher) { return run(Commands.info(voucher)); }
    public SaleAudit audit(String voucher) { return run(Commands.audit(voucher)); }
    public void create(String voucher, long stock, SaleRules rules) {
        run(Commands.create(voucher, stock, rules));
    }
    public void adopt(String voucher, SaleRules rules) { run(Commands.adopt(voucher, rules)); }
    public void alter(String voucher, SaleRules rules) { run(Commands.alter(voucher, rules)); }
    public long restock(String voucher, long delta) {
        return run(Commands.restock(voucher, delta));
    }
    public long restockTo(String voucher, long total) {
        return run(Commands.restockTo(voucher, total));
    }
    public long restockFor(OrderRef order, long delta) {
        return run(Commands.restockFor(order, delta));
    }
    public boolean drop(String voucher) { return run(Commands.drop(voucher)); }
    public boolean releaseAndDrop(String voucher) { return run(Commands.releaseAndDrop(voucher)); }
    public boolean reject(String stream, String group, String entryId, String reason) {
        return run(Commands.reject(stream, group, entryId, reason));
    }
    public List<DeadLetter> deadLetters(String stream, String after, int count) {
        return run(Commands.deadLetters(stream, after, count));
    }
    public String nextId(String prefix) { return run(Commands.nextId(prefix)); }
    public long deduct(String key, long units) { return run(Commands.deduct(key, units)); }
    public long returnUnits(String key, long units) {
        return run(Commands.returnUnits(key, units));
    }
    public Prize draw(String pool, String user) { return run(Commands.draw(pool, user)); }
    public boolean undraw(String pool, String user) { return run(Commands.undraw(pool, user)); }
    public boolean acquire(String key, String token, Duration lease) {
        return run(Commands.acquire(key, token, lease));
    }
    public boolean release(String key, String token) { return run(Commands.release(key, token)); }
    public Purchase tryKeys(
            List<String> keys, String voucher, String user, String orderId, String... options) {
        return run(Commands.tryKeys(keys, voucher, user, orderId, options));
    }

    /**
     * Reserves a unit until a deadline, or waits in the queue for one where all is sold. Called
     * again with the same order id, it says the position, and at last the deadline.
     */
    public Purchase reserveOrWait(String voucher, String user, String orderId) {
        return reserve(Commands.tryBuy(voucher, user, orderId).waitlist());
    }

    /** A lock as {@link SeckillOptions#lock} says. */
    public SeckillLock lock(String key) {
        return lock(key, options.lock);
    }

    /** A lock. All locks of this client and this key are the same lock. */
    public SeckillLock lock(String key, LockOptions options) {
        return new SeckillLock(locks, key, options);
    }

    /**
     * Does something while holding a lock, for which it waits in the server's queue.
     *
     * @param key the lock
     * @param wait how long to wait for it at most
     * @param work what to do
     * @return what the work has returned; empty if another owner held the lock all the time, and
     *     also if the work has returned null, so work that must be told apart returns something
     * @throws E what the work throws
     * @throws InterruptedException if the thread was interrupted while it waited
     * @throws SeckillException.LockLost if the work is done and the lock was lost meanwhile
     */
    public <T, E extends Exception> Optional<T> underLock(
            String key, Duration wait, LockedWork<T, E> work) throws E, InterruptedException {
        SeckillLock lock = lock(key);
        // The longest of all times is as good as for ever.
        long nanos = TimeUnit.NANOSECONDS.convert(Args.present(wait, "wait"));
        if (!lock.tryLock(nanos, TimeUnit.NANOSECONDS)) {
            return Optional.empty();
        }
        @Nullable T result;
        try {
            result = work.run(lock);
        } catch (Throwable failed) {
            unlockAfter(failed, lock);
            throw failed;
        }
        lock.unlock();
        return Optional.ofNullable(result);
    }

    /** What the work has thrown tells more than that the lock is lost, too. */
    private static void unlockAfter(Throwable failed, SeckillLock lock) {
        try {
            lock.unlock();
        } catch (RuntimeException alsoFailed) {
            failed.addSuppressed(alsoFailed);
        }
    }

    /** Work under a lock, which has the {@link SeckillLock#fencingToken()}. */
    @FunctionalInterface
    public interface LockedWork<T, E extends Exception> {
        @Nullable T run(SeckillLock lock) throws E;
    }

    /**
     * Releases what its locks hold, waits for that as long as for an answer at most, and closes the
     * connections. Until {@link #connect} every command fails as {@link SeckillException.NotNow}.
     */
    public void disconnect() {
        locks.releaseAll();
        connections.close();
    }

    /** Allows connections again, when they are needed. */
    public void connect() {
        connections.reopen();
    }

    /** Whether connections may be opened. */
    public boolean isOpen() {
        return connections.isOpen();
    }

    /**
     * Closes the client, releases what its locks hold and ends every wait. Tries that are under way
     * end as {@link Outcome#UNKNOWN}, other commands as {@link SeckillException.NoAnswer}; what was
     * not sent fails as {@link SeckillException.Busy} or {@link SeckillException.NotNow}, and so
     * does what comes later.
     */
    @Override
    public void close() {
        locks.close();
        sender.close();
        timer.shutdownNow();
        connections.close();
    }
}
