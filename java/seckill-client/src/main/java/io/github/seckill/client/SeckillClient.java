package io.github.seckill.client;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.concurrent.*;
import org.jspecify.annotations.Nullable;

/**
 * Sells, pays, looks and locks on a server that has the seckill module: each command is a method
 * that waits for the reply. Thread-safe; one per application.
 *
 * <p><b>Without waiting:</b> each command is also a value, made by the method of {@link Commands}
 * with the same name, and {@link #start} sends it.
 *
 * <p><b>What is answered and what is thrown.</b> What a buyer can run into is returned. A mistake
 * is thrown as a {@link SeckillException}, whose code says which.
 *
 * <p><b>No answer in time.</b> A command that may be repeated is sent again, the same to the byte,
 * until {@link SeckillOptions#retryFor}: so are tries on managed vouchers, by
 * their order id. A try on an unmanaged voucher is sent once, and without an answer it is {@link
 * Outcome#UNKNOWN}. Which of the two a voucher is, the client asks the server after the time-out.
 * Other commands that can't be repeated throw {@link SeckillException.NoAnswer}, and say so.
 */
public class SeckillClient implements AutoCloseable {
    private final SeckillTransport transport;
    private final ObservationRegistry observations;
    private final ScheduledThreadPoolExecutor timer;
    private final Sender sender;
    private final Tries tries;
    private final Locks locks;
    private final LockOptions lockOptions;

    /**
     * Makes a client. It closes its transport.
     *
     * @param transport how to reach the server; closed with the client
     * @param observations observes each command as {@code seckill.command}
     */
    public SeckillClient(
            SeckillTransport transport, SeckillOptions options, ObservationRegistry observations) {
        this.transport = Args.present(transport, "transport");
        this.observations = Args.present(observations, "observations");
        Args.present(options, "options");
        this.timer = new ScheduledThreadPoolExecutor(1, SeckillClient::timerThread);
        timer.setRemoveOnCancelPolicy(true);
        this.sender = new Sender(transport, options, timer);
        this.tries = new Tries(sender, Coalescer.of(sender, options, timer));
        this.locks = new Locks(transport, sender, options, timer);
        this.lockOptions = options.values.lock;
    }

    private static Thread timerThread(Runnable work) {
        Thread thread = new Thread(work, "seckill-timer");
        thread.setDaemon(true);
        return thread;
    }

    /** Makes a client with the default options. It closes its transport. */
    public static SeckillClient create(SeckillTransport transport) {
        return create(transport, SeckillOptions.defaults());
    }

    /** Makes a client that nobody observes. It closes its transport. */
    public static SeckillClient create(SeckillTransport transport, SeckillOptions options) {
        return new SeckillClient(transport, options, ObservationRegistry.NOOP);
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
            throw Sender.unwrapped(failed).thrownHere();
        }
    }

    /**
     * Runs a command without waiting. The future always completes: with the reply, or with a {@link
     * SeckillException}. If its caller cancels it, or has it time out, nothing is sent again, and a
     * try that was not sent yet never is; the server still decides what was sent.
     *
     * <p>It completes on a thread of the Redis client: don't block there. With Reactor it is {@code
     * Mono.fromFuture(() -> seckill.start(command))}, sent once for each subscriber.
     */
    public <T> CompletableFuture<T> start(SeckillCommand<T> command) {
        if (observations.isNoop()) {
            return command.start(sender, tries);
        }
        Observation observation = Observation.createNotStarted("seckill.command", observations)
                .lowCardinalityKeyValue("command", command.name())
                // Prometheus takes a meter only if it has the same tags each time.
                .lowCardinalityKeyValue("outcome", "none");
        try {
            observation.start();
        } catch (RuntimeException broken) {
            return command.start(sender, tries); // An observer that throws keeps nobody waiting.
        }
        CompletableFuture<T> result = observation.scoped(() -> command.start(sender, tries));
        result.whenComplete((reply, failure) -> {
            observation.lowCardinalityKeyValue("outcome", outcome(reply, failure));
            if (failure != null) {
                observation.error(failure);
            }
            observation.stop();
        });
        return result;
    }

    private static String outcome(@Nullable Object reply, @Nullable Throwable failure) {
        String word;
        if (failure != null) {
            word = failure instanceof SeckillException said ? said.code().name() : "GIVEN_UP";
        } else if (reply instanceof Enum<?> constant) {
            word = constant.name();
        } else {
            word = reply == null ? "none" : reply.getClass().getSimpleName();
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

    /** Runs {@link Commands#tryBuy(String, String, String)}. */
    public Outcome tryBuy(String voucher, String user, String orderId) {
        return run(Commands.tryBuy(voucher, user, orderId));
    }

    /** Runs {@link Commands#tryBuy(String, String, String, long)}. */
    public Outcome tryBuy(String voucher, String user, String orderId, long units) {
        return run(Commands.tryBuy(voucher, user, orderId, units));
    }

    /** Runs {@link Commands#tryBuy(String, String)}. */
    public Purchase tryBuy(String voucher, String user) {
        return run(Commands.tryBuy(voucher, user));
    }

    /** Runs {@link Commands#tryAll(String, List)}. */
    public List<AttemptResult> tryAll(String voucher, List<Attempt> attempts) {
        return run(Commands.tryAll(voucher, attempts));
    }

    /** Runs {@link Commands#tryAll(String, String, List)}. */
    public CartResult tryAll(String user, String orderId, List<Article> articles) {
        return run(Commands.tryAll(user, orderId, articles));
    }

    /** Runs {@link Commands#tryKeys(KeyedTry)}. */
    public Outcome tryKeys(KeyedTry attempt) {
        return run(Commands.tryKeys(attempt));
    }

    /** Runs {@link Commands#reserve(String, String, String)}. */
    public Reservation reserve(String voucher, String user, String orderId) {
        return run(Commands.reserve(voucher, user, orderId));
    }

    /** Runs {@link Commands#confirm(OrderRef)}. */
    public Confirmation confirm(OrderRef order) {
        return run(Commands.confirm(order));
    }

    /** Runs {@link Commands#confirm(OrderRef, String)}. */
    public Confirmation confirm(OrderRef order, String paymentRef) {
        return run(Commands.confirm(order, paymentRef));
    }

    /** Runs {@link Commands#confirm(OrderRef, String, long)}. */
    public Confirmation confirm(OrderRef order, String paymentRef, long units) {
        return run(Commands.confirm(order, paymentRef, units));
    }

    /** Runs {@link Commands#recordRefund(OrderRef, String)}. */
    public Confirmation recordRefund(OrderRef order, String paymentRef) {
        return run(Commands.recordRefund(order, paymentRef));
    }

    /** Runs {@link Commands#cancel(OrderRef)}. */
    public Cancellation cancel(OrderRef order) {
        return run(Commands.cancel(order));
    }

    /** Runs {@link Commands#cancel(OrderRef, Release...)}. */
    public Cancellation cancel(OrderRef order, Release... more) {
        return run(Commands.cancel(order, more));
    }

    /** Runs {@link Commands#cancelIf(OrderRef, OrderState)}. */
    public Cancellation cancelIf(OrderRef order, OrderState state) {
        return run(Commands.cancelIf(order, state));
    }

    /** Runs {@link Commands#cancelAllBut(OrderRef, long, Release...)}. */
    public Cancellation cancelAllBut(OrderRef order, long units, Release... more) {
        return run(Commands.cancelAllBut(order, units, more));
    }

    /** Runs {@link Commands#extend(OrderRef, Duration)}. */
    public Extension extend(OrderRef order, Duration time) {
        return run(Commands.extend(order, time));
    }

    /** Runs {@link Commands#order(String, String)}. */
    public Optional<Order> order(String voucher, String orderId) {
        return run(Commands.order(voucher, orderId));
    }

    /** Runs {@link Commands#status(String, String)}. */
    public Optional<BuyerStatus> status(String voucher, String user) {
        return run(Commands.status(voucher, user));
    }

    /** Runs {@link Commands#info(String)}. */
    public SaleInfo info(String voucher) {
        return run(Commands.info(voucher));
    }

    /** Runs {@link Commands#audit(String)}. */
    public SaleAudit audit(String voucher) {
        return run(Commands.audit(voucher));
    }

    /** Runs {@link Commands#create(String, long, SaleRules)}. */
    public void create(String voucher, long stock, SaleRules rules) {
        run(Commands.create(voucher, stock, rules));
    }

    /** Runs {@link Commands#adopt(String, SaleRules)}. */
    public void adopt(String voucher, SaleRules rules) {
        run(Commands.adopt(voucher, rules));
    }

    /** Runs {@link Commands#alter(String, SaleRules)}. */
    public void alter(String voucher, SaleRules rules) {
        run(Commands.alter(voucher, rules));
    }

    /** Runs {@link Commands#restock(String, long)}. */
    public long restock(String voucher, long delta) {
        return run(Commands.restock(voucher, delta));
    }

    /** Runs {@link Commands#restockTo(String, long)}. */
    public long restockTo(String voucher, long total) {
        return run(Commands.restockTo(voucher, total));
    }

    /** Runs {@link Commands#restockFor(String, long, String, long)}. */
    public long restockFor(String voucher, long delta, String orderId, long sale) {
        return run(Commands.restockFor(voucher, delta, orderId, sale));
    }

    /** Runs {@link Commands#drop(String)}. */
    public DropResult drop(String voucher) {
        return run(Commands.drop(voucher));
    }

    /** Runs {@link Commands#releaseAndDrop(String)}. */
    public DropResult releaseAndDrop(String voucher) {
        return run(Commands.releaseAndDrop(voucher));
    }

    /** Runs {@link Commands#reject(String, String, String, String)}. */
    public boolean reject(String stream, String group, String entryId, String reason) {
        return run(Commands.reject(stream, group, entryId, reason));
    }

    /** Runs {@link Commands#deadLetters(String, String, int)}. */
    public List<DeadLetter> deadLetters(String stream, String after, int count) {
        return run(Commands.deadLetters(stream, after, count));
    }

    /** Runs {@link Commands#nextId(String)}. */
    public String nextId(String prefix) {
        return run(Commands.nextId(prefix));
    }

    /** Runs {@link Commands#nextIds(String, int)}. */
    public List<String> nextIds(String prefix, int count) {
        return run(Commands.nextIds(prefix, count));
    }

    /** Runs {@link Commands#deduct(String, long)}. */
    public Deduction deduct(String key, long units) {
        return run(Commands.deduct(key, units));
    }

    /** Runs {@link Commands#returnUnits(String, long)}. */
    public long returnUnits(String key, long units) {
        return run(Commands.returnUnits(key, units));
    }

    /** Runs {@link Commands#draw(String, String)}. */
    public Prize draw(String pool, String user) {
        return run(Commands.draw(pool, user));
    }

    /** Runs {@link Commands#undraw(String, String)}. */
    public boolean undraw(String pool, String user) {
        return run(Commands.undraw(pool, user));
    }

    /** Runs {@link Commands#acquire(String, String, Duration)}. */
    public boolean acquire(String key, String token, Duration lease) {
        return run(Commands.acquire(key, token, lease));
    }

    /** Runs {@link Commands#release(String, String)}. */
    public boolean release(String key, String token) {
        return run(Commands.release(key, token));
    }

    /**
     * Reserves a unit until a deadline, or waits in line for one where all is sold. Called again
     * with the same order id, it says the position, and at last the deadline.
     */
    public Reservation reserveOrWait(String voucher, String user, String orderId) {
        return run(Commands.reserve(Commands.tryBuy(voucher, user, orderId).waitlist()));
    }

    /** A lock as {@link SeckillOptions#lock} says. */
    public SeckillLock lock(String key) {
        return lock(key, lockOptions);
    }

    /** A lock. All locks of this client and this key are the same lock. */
    public SeckillLock lock(String key, LockOptions options) {
        return new SeckillLock(locks, key, options);
    }

    /**
     * Does something while holding a lock, for which it waits in the server's line.
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
        if (!lock.tryLock(wait.toNanos(), TimeUnit.NANOSECONDS)) {
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

    /** Releases what its locks hold, and waits for that as long as for an answer at most. */
    public void releaseLocks() {
        locks.releaseAll();
    }

    /**
     * Closes the client and its transport, releases what its locks hold and ends every wait. Tries
     * that are under way end as {@link Outcome#UNKNOWN}, other commands as {@link
     * SeckillException.NoAnswer}; what was not sent fails as {@link SeckillException.Busy} or
     * {@link SeckillException.NotNow}, and so does what comes later.
     */
    @Override
    public void close() {
        locks.close();
        tries.close();
        sender.close();
        timer.shutdownNow();
        transport.close();
    }
}
