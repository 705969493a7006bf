package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Tries: sent alone or together, and told to the observer. */
record Tries(Sender sender, SeckillObserver observer, @Nullable Coalescer coalescer)
        implements AutoCloseable {
    <T> CompletableFuture<T> start(Try<T> attempt) {
        Buying<T> buying = new Buying<>(this, attempt);
        if (coalescer != null && attempt.mayTravel()) {
            coalescer.add(buying);
        } else {
            alone(sender, buying, () -> {});
        }
        return buying;
    }

    /** Sends one try by itself, if somebody still waits for it. */
    static void alone(Sender sender, Buying<?> buying, Runnable firstAnswer) {
        if (!buying.isToBeSent()) {
            firstAnswer.run();
            return;
        }
        CompletableFuture<Bought> sent = sender.call(() -> buying.attempt.call, firstAnswer);
        buying.onEnd(() -> sent.cancel(false));
        sent.whenComplete((bought, failure) -> {
            if (failure == null) {
                buying.decided(bought);
            } else {
                buying.failed(failure);
            }
        });
    }

    /** It has ended, one way or the other: told once. */
    private void ended(Buying<?> buying, Outcome outcome) {
        observer.tried(buying.attempt.voucher, outcome, since(buying));
    }

    private void ended(Buying<?> buying, SeckillException mistake) {
        observer.failed(buying.attempt.voucher, mistake);
    }

    private static Duration since(Buying<?> buying) {
        return Duration.ofNanos(System.nanoTime() - buying.came);
    }

    @Override
    public void close() {
        if (coalescer != null) {
            coalescer.close();
        }
    }

    /** A try and who waits for it. One that is given up before it is sent is not sent. */
    static final class Buying<T> extends CompletableFuture<T> {
        private enum State {
            NEW,
            SENT,
            GIVEN_UP
        }

        final Try<T> attempt;
        final long came = System.nanoTime();
        private final Tries tries;
        private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
        private volatile @Nullable Outcome outcome;
        private volatile @Nullable SeckillException mistake;
        private volatile @Nullable Runnable onEnd;

        Buying(Tries tries, Try<T> attempt) {
            this.tries = tries;
            this.attempt = attempt;
            // By its answer, or because its caller has cancelled it, or waits no longer.
            whenComplete((value, failure) -> end());
        }

        /** Whether somebody waits for it. From now on it counts as sent. */
        boolean isToBeSent() {
            return !isDone()
                    && (state.compareAndSet(State.NEW, State.SENT) || state.get() == State.SENT);
        }

        /** Tells who sends it that nobody waits any more. Perhaps twice. */
        void onEnd(Runnable listener) {
            onEnd = listener;
            if (isDone()) {
                listener.run();
            }
        }

        void decided(Bought bought) {
            T value;
            try {
                value = attempt.as(bought);
            } catch (RuntimeException broken) {
                failed(broken);
                return;
            }
            outcome = bought.outcome();
            complete(value);
        }

        void failed(Throwable failure) {
            SeckillException said = Sender.unwrapped(failure);
            mistake = said;
            completeExceptionally(said);
        }

        private void end() {
            boolean wasSent = !state.compareAndSet(State.NEW, State.GIVEN_UP);
            Outcome decided = outcome;
            SeckillException said = mistake;
            Runnable listener = onEnd;
            if (listener != null) {
                listener.run();
            }
            if (decided != null) {
                tries.ended(this, decided);
            } else if (said != null) {
                tries.ended(this, said);
            } else if (wasSent) {
                tries.ended(this, Outcome.UNKNOWN);
            } else {
                tries.ended(this, new SeckillException.Busy("BUSY given up, and not sent", null));
            }
        }
    }
}
