package io.github.seckill.client;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.*;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sends commands, tries perhaps together, and sends those again that may be. */
final class Sender implements AutoCloseable {
    private static final long PAUSE_MIN_MS = 10;
    private static final long PAUSE_MAX_MS = 200;
    private static final int PAUSE_DOUBLINGS_MAX = 5;

    private final Connections connections;
    private final Duration timeout;
    private final long retryNanos;
    private final ScheduledExecutorService timer;
    private final @Nullable Coalescer coalescer;
    private final ConcurrentMap<String, CompletableFuture<Boolean>> asked =
            new ConcurrentHashMap<>();
    private final Set<Attempts<?>> underWay = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** Commands that were sent again, and those that try to buy. */
    final LongAdder repeated = new LongAdder();
    final LongAdder tryCommands = new LongAdder();

    Sender(Connections connections, SeckillOptions options, ScheduledExecutorService timer) {
        this.connections = connections;
        this.timeout = options.commandTimeout;
        this.retryNanos = options.retryFor.toNanos();
        this.timer = timer;
        this.coalescer = options.coalescing ? new Coalescer(this, options) : null;
    }

    CompletableFuture<Purchase> start(Try attempt) {
        return coalescer != null && attempt.mayTravel ? coalescer.add(attempt) : call(attempt);
    }

    /** Sends a command, again if it may be, and reads its reply. One cancelled is sent no more. */
    <T> CompletableFuture<T> call(Call<T> call) {
        return call(() -> call, System.nanoTime(), () -> {});
    }

    /**
     * Sends a command that may be another one each time, as callers leave.
     *
     * @param since when it was asked for: how long it is sent again counts from then
     * @param firstAnswer runs when the first one is answered, or its time is over
     */
    <T> CompletableFuture<T> call(Supplier<Call<T>> calls, long since, Runnable firstAnswer) {
        Attempts<T> attempts = new Attempts<>(calls, since, firstAnswer);
        underWay.add(attempts);
        attempts.next();
        return attempts;
    }

    /** Ends everything that has no answer yet: what was never sent is known to be not done. */
    @Override
    public void close() {
        if (coalescer != null) {
            coalescer.close();
        }
        closed = true;
        underWay.forEach(Attempts::closed);
    }

    private final class Attempts<T> extends CompletableFuture<T> {
        private final Supplier<Call<T>> calls;
        private final Runnable firstAnswer;
        private final long since;
        private int sent;
        private boolean managed;
        private volatile Call<T> call;
        private volatile @Nullable CompletableFuture<?> onItsWay;

        /** Set once the outcome of what was sent is unknown: only an answer ends it well then. */
        private volatile @Nullable SeckillException unanswered;

        Attempts(Supplier<Call<T>> calls, long since, Runnable firstAnswer) {
            this.calls = calls;
            this.since = since;
            this.call = calls.get();
            this.firstAnswer = firstAnswer;
            // Cancelled, or waited for no longer: what has not been written yet never is.
            whenComplete((value, failed) -> {
                CompletableFuture<?> written = onItsWay;
                if (written != null) {
                    written.cancel(false);
                }
            });
        }

        void next() {
            if (isDone()) {
                underWay.remove(this);
                return;
            }
            sent++;
            boolean first = sent == 1;
            try {
                call = first ? call : calls.get();
                if (!first) {
                    repeated.increment();
                } else if (call.isTry()) {
                    tryCommands.increment();
                }
                CompletableFuture<@Nullable Object> written = connections.send(call, timeout);
                onItsWay = written;
                written.whenComplete((reply, failure) -> answered(first, reply, failure));
                if (isDone()) {
                    written.cancel(false);
                }
            } catch (RuntimeException | Error broken) {
                answered(first, null, broken);
            }
            if (closed) {
                closed();
            }
        }

        private void answered(
                boolean first, @Nullable Object reply, @Nullable Throwable failure) {
            onItsWay = null;
            try {
                if (first) {
                    firstAnswer.run();
                }
                if (failure == null) {
                    complete(call.read(reply));
                    underWay.remove(this);
                } else {
                    refused(failure instanceof CancellationException
                            ? SeckillException.closed()
                            : SeckillException.of(failure));
                }
            } catch (SeckillException said) {
                end(said);
            } catch (RuntimeException | Error broken) {
                end(SeckillException.unexpected(Printable.said(broken)));
            }
        }

        private void refused(SeckillException said) {
            // What a repetition is refused for says nothing of what was sent before.
            boolean mayPass = unanswered != null && said.code() == SeckillException.Code.OTHER;
            if (said instanceof SeckillException.NotNow || mayPass) {
                later(said);
            } else if (!(said instanceof SeckillException.NoAnswer)) {
                end(said);
            } else {
                unanswered = said;
                String voucher = call.managedVoucher();
                if (call.isRepeatable() || managed) {
                    later(said);
                } else if (voucher == null || isOver()) {
                    end(said);
                } else {
                    ask(voucher, said);
                }
            }
        }

        private void ask(String voucher, SeckillException noAnswer) {
            // Others may have asked for longer than this one may wait.
            CompletableFuture<Boolean> answer = isManaged(voucher).copy().completeOnTimeout(
                    false, since + retryNanos - System.nanoTime(), TimeUnit.NANOSECONDS);
            answer.whenComplete((is, failed) -> {
                managed = failed == null && is;
                if (managed) {
                    later(noAnswer);
                } else {
                    end(noAnswer);
                }
            });
        }

        private boolean isOver() {
            return closed || isDone() || System.nanoTime() - since >= retryNanos;
        }

        private void later(SeckillException said) {
            if (isOver()) {
                endAsKnown(said);
                return;
            }
            long pause =
                    Math.min(PAUSE_MIN_MS << Math.min(sent - 1, PAUSE_DOUBLINGS_MAX), PAUSE_MAX_MS);
            try {
                timer.schedule(this::next, pause, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException closing) {
                endAsKnown(said);
            }
        }

        /** What was sent before, without an answer, may have been done. */
        private void endAsKnown(SeckillException last) {
            SeckillException earlier = unanswered;
            end(earlier == null ? last : earlier);
        }

        private void end(SeckillException said) {
            T unknown = call.unanswered();
            if (said instanceof SeckillException.NoAnswer && unknown != null) {
                complete(unknown);
            } else {
                completeExceptionally(said);
            }
            underWay.remove(this);
        }

        void closed() {
            CompletableFuture<?> written = onItsWay;
            // What is not written yet never is, and ends by this.
            if (written == null || !written.cancel(false)) {
                endAsKnown(written == null
                        ? SeckillException.closed()
                        : new SeckillException.NoAnswer("NOANSWER the client was closed", null));
            }
        }
    }

    /** One question at a time for each voucher, however many tries want to know. */
    private CompletableFuture<Boolean> isManaged(String voucher) {
        CompletableFuture<Boolean> question = new CompletableFuture<>();
        CompletableFuture<Boolean> earlier = asked.putIfAbsent(voucher, question);
        if (earlier != null) {
            return earlier;
        }
        question.whenComplete((is, failed) -> asked.remove(voucher, question));
        Call<Boolean> info =
                Call.of("SECKILL.INFO", reply -> Replies.info(reply).managed(), voucher);
        follow(call(info), question);
        return question;
    }

    /** Ends one as the other ends. */
    static <T> void follow(CompletableFuture<T> first, CompletableFuture<T> then) {
        first.whenComplete((value, failed) -> {
            if (failed == null) {
                then.complete(value);
            } else {
                then.completeExceptionally(SeckillException.of(failed));
            }
        });
    }
}
