package io.github.seckill.client;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Sends commands, and sends those again that may be. */
final class Sender {
    private static final long PAUSE_MIN_MS = 10;
    private static final long PAUSE_MAX_MS = 200;
    private static final int PAUSE_DOUBLINGS_MAX = 5;

    private final SeckillTransport transport;
    private final Duration timeout;
    private final long retryNanos;
    private final SeckillObserver observer;
    private final ScheduledExecutorService timer;
    private final ConcurrentMap<String, CompletableFuture<Boolean>> asked =
            new ConcurrentHashMap<>();

    Sender(
            SeckillTransport transport, SeckillOptions options, SeckillObserver observer,
            ScheduledExecutorService timer) {
        this.transport = transport;
        this.timeout = options.commandTimeout();
        this.retryNanos = options.values.retryFor.toNanos();
        this.observer = observer;
        this.timer = timer;
    }

    /** Sends a command, again if it may be, and reads its reply. */
    <T> CompletableFuture<T> call(Call<T> call, Runnable firstAnswer) {
        Attempts attempts = new Attempts(call, firstAnswer);
        attempts.next();
        return attempts.result.handle((value, failure) -> {
            if (failure == null) {
                return call.read(value);
            }
            SeckillException said = unwrapped(failure);
            T unanswered = call.unanswered();
            if (said instanceof SeckillException.NoAnswer && unanswered != null) {
                return unanswered;
            }
            throw said;
        });
    }

    private final class Attempts {
        private final Request request;
        /** The voucher that must be managed for a repetition, if that is what it takes. */
        private final @Nullable String voucher;
        private final Runnable firstAnswer;
        private final CompletableFuture<@Nullable Object> result = new CompletableFuture<>();
        private final long started = System.nanoTime();
        private int sent;
        private boolean managed;

        /** Set once the outcome of what was sent is unknown: only an answer ends it well then. */
        private @Nullable SeckillException unanswered;

        Attempts(Call<?> call, Runnable firstAnswer) {
            this.request = call.request();
            this.voucher = call.managedVoucher();
            this.firstAnswer = firstAnswer;
        }

        void next() {
            sent++;
            if (sent > 1) {
                observer.repeated();
            } else if (request.tries() > 0) {
                observer.sent(request.tries());
            }
            transport.send(request, timeout).whenComplete(this::answered);
        }

        private void answered(@Nullable Object reply, @Nullable Throwable failure) {
            if (sent == 1) {
                firstAnswer.run();
            }
            if (failure == null) {
                result.complete(reply);
                return;
            }
            SeckillException said = unwrapped(failure);
            if (said instanceof SeckillException.NoAnswer) {
                noAnswer(said);
            } else if (said instanceof SeckillException.NotNow || mayPass(said)) {
                later(said);
            } else {
                result.completeExceptionally(said);
            }
        }

        private void noAnswer(SeckillException said) {
            unanswered = said;
            if (request.repeatable() || managed) {
                later(said);
            } else if (voucher != null) {
                ask(voucher, said);
            } else {
                result.completeExceptionally(said);
            }
        }

        /** What a repetition is refused for by the server says nothing of what was sent before. */
        private boolean mayPass(SeckillException said) {
            return unanswered != null && said.code() == SeckillException.Code.OTHER;
        }

        private void ask(String voucher, SeckillException noAnswer) {
            if (isOver()) {
                result.completeExceptionally(noAnswer);
                return;
            }
            isManaged(voucher).whenComplete((is, failed) -> {
                if (failed == null && is) {
                    managed = true;
                    later(noAnswer);
                } else {
                    result.completeExceptionally(noAnswer);
                }
            });
        }

        private boolean isOver() {
            return result.isDone() || System.nanoTime() - started >= retryNanos;
        }

        private void later(SeckillException said) {
            if (isOver()) {
                result.completeExceptionally(unanswered == null ? said : unanswered);
                return;
            }
            long pause =
                    Math.min(PAUSE_MIN_MS << Math.min(sent - 1, PAUSE_DOUBLINGS_MAX), PAUSE_MAX_MS);
            try {
                timer.schedule(this::next, pause, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException closed) {
                result.completeExceptionally(unanswered == null ? said : unanswered);
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
        call(Call.of("SECKILL.INFO", Replies::info, voucher), () -> {})
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
