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
import java.util.function.Function;
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
            SeckillTransport transport,
            SeckillOptions options,
            SeckillObserver observer,
            ScheduledExecutorService timer) {
        this.transport = transport;
        this.timeout = options.commandTimeout();
        this.retryNanos = options.retryFor().toNanos();
        this.observer = observer;
        this.timer = timer;
    }

    /** Sends a command, repeats it if it is repeatable, and reads its reply. */
    <T> CompletableFuture<T> call(Command command, Function<@Nullable Object, T> read) {
        return send(command, Sending.of(command)).thenApply(read);
    }

    /**
     * Sends a command that may be repeated only if the voucher is managed: without an answer the
     * server is asked whether it is.
     */
    CompletableFuture<@Nullable Object> callIfManaged(
            Command command, String voucher, Runnable firstAnswer) {
        return send(command, new Sending(voucher, firstAnswer));
    }

    /** What is known of the repetition of one command: a null voucher means that none is asked about. */
    private record Sending(@Nullable String managedVoucher, Runnable firstAnswer) {
        static Sending of(Command command) {
            return new Sending(null, () -> {});
        }
    }

    private CompletableFuture<@Nullable Object> send(Command command, Sending sending) {
        CompletableFuture<@Nullable Object> result = new CompletableFuture<>();
        new Attempts(command, sending, result).next();
        return result;
    }

    private final class Attempts {
        private final Command command;
        private final Sending sending;
        private final CompletableFuture<@Nullable Object> result;
        private final long started = System.nanoTime();
        private int sent;
        private boolean managed;

        /** Set once something was sent whose outcome is unknown: then only an answer ends it well. */
        private @Nullable SeckillException unanswered;

        Attempts(
                Command command,
                Sending sending,
                CompletableFuture<@Nullable Object> result) {
            this.command = command;
            this.sending = sending;
            this.result = result;
        }

        void next() {
            sent++;
            if (sent > 1) {
                observer.repeated();
            }
            transport.send(command, timeout).whenComplete(this::answered);
        }

        private void answered(@Nullable Object reply, @Nullable Throwable failure) {
            if (sent == 1) {
                sending.firstAnswer().run();
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
            if (command.repeatable() || managed) {
                later(said);
            } else if (sending.managedVoucher() != null) {
                ask(sending.managedVoucher(), said);
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
            isManaged(voucher)
                    .whenComplete(
                            (is, failed) -> {
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
                    Math.min(
                            PAUSE_MIN_MS << Math.min(sent - 1, PAUSE_DOUBLINGS_MAX),
                            PAUSE_MAX_MS);
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
        call(Commands.info(voucher), Replies::info)
                .whenComplete(
                        (info, failed) -> {
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
