package io.github.seckill.client;

import java.util.concurrent.*;

/**
 * Runs {@link Commands} on a server that has the seckill module, and makes locks. Thread-safe; one
 * per application.
 *
 * <p><b>Two ways to run a command.</b> {@link #run} waits for the reply, {@link #start} does not.
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
    private final ScheduledThreadPoolExecutor timer;
    private final Sender sender;
    private final Tries tries;
    private final Locks locks;
    private final LockOptions lockOptions;

    /**
     * Makes a client. It closes its transport.
     *
     * @param transport how to reach the server; closed with the client
     * @param observer is notified of tries and batches
     */
    public SeckillClient(
            SeckillTransport transport, SeckillOptions options, SeckillObserver observer) {
        this.transport = Args.present(transport, "transport");
        Args.present(options, "options");
        Args.present(observer, "observer");
        this.timer = new ScheduledThreadPoolExecutor(1, SeckillClient::timerThread);
        timer.setRemoveOnCancelPolicy(true);
        this.sender = new Sender(transport, options, observer, timer);
        this.tries = new Tries(
                sender, observer, Coalescer.of(sender, options, timer));
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
        return new SeckillClient(transport, options, SeckillObserver.none());
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
    public <T> T run(Command<T> command) {
        if (Thread.currentThread().isInterrupted()) {
            throw new SeckillException.Busy("BUSY not sent: the thread is interrupted", null);
        }
        CompletableFuture<T> result = command.start(sender, tries);
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
    public <T> CompletableFuture<T> start(Command<T> command) {
        return command.start(sender, tries);
    }

    /** Runs {@link Commands#tryBuy(String, String, String)}. */
    public Outcome tryBuy(String voucher, String user, String orderId) {
        return run(Commands.tryBuy(voucher, user, orderId));
    }

    public Purchase tryBuy(String voucher, String user) {
        return run(Commands.tryBuy(voucher, user));
    }

    /** A lock as {@link SeckillOptions#lock} says. */
    public SeckillLock lock(String key) {
        return lock(key, lockOptions);
    }

    /** A lock. All locks of this client and this key are the same lock. */
    public SeckillLock lock(String key, LockOptions options) {
        return new SeckillLock(locks, key, options);
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
