package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Tries: sent alone or together. */
record Tries(Sender sender, @Nullable Coalescer coalescer) implements AutoCloseable {
    <T> CompletableFuture<T> start(Try<T> attempt) {
        Buying<T> buying = new Buying<>(attempt);
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
                buying.completeExceptionally(Sender.unwrapped(failure));
            }
        });
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
        private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
        private volatile @Nullable Runnable onEnd;

        Buying(Try<T> attempt) {
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

        /** Whether it has ended before it was sent. */
        boolean wasNotSent() {
            return state.get() == State.GIVEN_UP;
        }

        void decided(Bought bought) {
            try {
                complete(attempt.as(bought));
            } catch (RuntimeException broken) {
                completeExceptionally(Sender.unwrapped(broken));
            }
        }

        private void end() {
            state.compareAndSet(State.NEW, State.GIVEN_UP);
            Runnable listener = onEnd;
            if (listener != null) {
                listener.run();
            }
        }
    }
}
