package io.github.seckill.client;

import java.time.Duration;
import java.util.Set;
import java.util.concurrent.*;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Sends commands, and sends those again that may be. */
final class Sender implements AutoCloseable {
    private static final long PAUSE_MIN_MS = 10;
    private static final long PAUSE_MAX_MS = 200;
    private static final int PAUSE_DOUBLINGS_MAX = 5;

    private final SeckillTransport transport;
    private final Duration timeout;
    private final long retryNanos;
    /** Commands that were sent again. */
    final LongAdder repeated = new LongAdder();
    /** Commands that try to buy, and how many tries they were. */
    final LongAdder tryCommands = new LongAdder();
    final LongAdder tries = new LongAdder();
    private final ScheduledExecutorService timer;
    private final ConcurrentMap<String, CompletableFuture<Boolean>> asked =
            new ConcurrentHashMap<>();
    private final Set<Attempts<?>> underWay = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    Sender(
            SeckillTransport transport, SeckillOptions options, ScheduledExecutorService timer) {
        this.transport = transport;
        this.timeout = options.commandTimeout();
        this.retryNanos = options.values.retryFor.toNanos();
        this.timer = timer;
    }

    /** Sends a command, again if it may be, and reads its reply. One cancelled is sent no more. */
    <T> CompletableFuture<T> call(Call<T> call) {
        return call(() -> call, () -> {});
    }

    /**
     * Sends a command that may be another one each time, as callers leave.
     *
     * @param firstAnswer runs when the first one is answered, or its time is over
     */
    <T> CompletableFuture<T> call(Supplier<Call<T>> calls, Runnable firstAnswer) {
        Attempts<T> attempts = new Attempts<>(calls, firstAnswer);
        underWay.add(attempts);
        attempts.next();
        return attempts;
    }

    /** Ends everything that has no answer yet: what was never sent is known to be not done. */
    @Override
    public void close() {
        closed = true;
        underWay.forEach(Attempts::closed);
    }

    private final class Attempts<T> extends CompletableFuture<T> {
        private final Supplier<Call<T>> calls;
        private final Runnable firstAnswer;
        private final long started = System.nanoTime();
        private int sent;
        private boolean managed;
        private volatile Call<T> call;
        private volatile @Nullable CompletableFuture<?> onItsWay;

        /** Set once the outcome of what was sent is unknown: only an answer ends it well then. */
        private volatile @Nullable SeckillException unanswered;

        Attempts(Supplier<Call<T>> calls, Runnable firstAnswer) {
            this.calls = calls;
            this.call = calls.get();
            this.firstAnswer = firstAnswer;
        }

        /** What has not been written yet never is. */
        @Override
        public boolean cancel(boolean mayInterrupt) {
            boolean cancelled = super.cancel(mayInterrupt);
            CompletableFuture<?> written = onItsWay;
            if (written != null) {
                written.cancel(false);
            }
            return cancelled;
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
                Request request = call.request();
                count(first, request.tries());
                CompletableFuture<@Nullable Object> written = transport.send(request, timeout);
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

        private void count(boolean first, int triesInIt) {
            if (!first) {
                repeated.increment();
            } else if (triesInIt > 0) {
                tryCommands.increment();
                tries.add(triesInIt);
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
                    refused(unwrapped(failure));
                }
            } catch (SeckillException said) {
                end(said);
            } catch (RuntimeException | Error broken) {
                end(SeckillException.unexpected(broken.toString()));
            }
        }

        private void refused(SeckillException said) {
            if (said instanceof SeckillException.NoAnswer) {
                noAnswer(said);
            } else if (said instanceof SeckillException.NotNow || mayPass(said)) {
                later(said);
            } else {
                end(said);
            }
        }

        private void noAnswer(SeckillException said) {
            unanswered = said;
            String voucher = call.managedVoucher();
            if (call.request().repeatable() || managed) {
                later(said);
            } else if (voucher != null) {
                ask(voucher, said);
            } else {
                end(said);
            }
        }

        /** What a repetition is refused for by the server says nothing of what was sent before. */
        private boolean mayPass(SeckillException said) {
            return unanswered != null && said.code() == SeckillException.Code.OTHER;
        }

        private void ask(String voucher, SeckillException noAnswer) {
            if (isOver()) {
                end(noAnswer);
                return;
            }
            isManaged(voucher).whenComplete((is, failed) -> {
                if (failed == null && is) {
                    managed = true;
                    later(noAnswer);
                } else {
                    end(noAnswer);
                }
            });
        }

        private boolean isOver() {
            return closed || isDone() || System.nanoTime() - started >= retryNanos;
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
            endAsKnown(onItsWay != null
                    ? new SeckillException.NoAnswer("NOANSWER the client was closed", null)
                    : SeckillException.closed());
        }
    }

    /** One question at a time for each voucher, however many tries want to know. */
    private CompletableFuture<Boolean> isManaged(String voucher) {
        CompletableFuture<Boolean> question = new CompletableFuture<>();
        CompletableFuture<Boolean> earlier = asked.putIfAbsent(voucher, question);
        if (earlier != null) {
            return earlier;
        }
        call(Call.of("SECKILL.INFO", Replies::info, voucher))
                .whenComplete((info, failed) -> {
                    asked.remove(voucher, question);
                    if (failed == null) {
                        question.complete(info.managed());
                    } else {
                        question.completeExceptionally(failed);
                    }
                });
        return question;
    }

    /** The failure itself, whichever stages it has passed. */
    static SeckillException unwrapped(Throwable failure) {
        Throwable inner = failure;
        while ((inner instanceof CompletionException || inner instanceof ExecutionException)
                && inner.getCause() != null) {
            inner = inner.getCause();
        }
        if (inner instanceof SeckillException known) {
            return known;
        }
        return new SeckillException.NoAnswer("No answer from the server: " + inner, inner);
    }
}
