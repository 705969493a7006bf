package io.github.seckill.client;

import java.util.Objects;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.reactivestreams.Publisher;
import org.reactivestreams.Subscriber;
import org.reactivestreams.Subscription;

/** Starts a future for each subscriber that requests something, and publishes what it gives. */
final class FuturePublisher<T> implements Publisher<T> {
    private final Supplier<? extends CompletableFuture<? extends @Nullable T>> start;

    FuturePublisher(Supplier<? extends CompletableFuture<? extends @Nullable T>> start) {
        this.start = start;
    }

    @Override
    public void subscribe(Subscriber<? super T> subscriber) {
        Objects.requireNonNull(subscriber, "subscriber");
        subscriber.onSubscribe(new Run<>(start, subscriber));
    }

    /** A null state: nothing was requested yet. OVER: the subscriber gets no more signals. */
    private static final class Run<T> implements Subscription {
        private static final CompletableFuture<Object> OVER =
                CompletableFuture.completedFuture("over");
        private static final CompletableFuture<Object> STARTING =
                CompletableFuture.completedFuture("starting");

        private final Supplier<? extends CompletableFuture<? extends @Nullable T>> start;
        private final Subscriber<? super T> subscriber;
        private final AtomicReference<@Nullable CompletableFuture<?>> state =
                new AtomicReference<>();

        Run(
                Supplier<? extends CompletableFuture<? extends @Nullable T>> start,
                Subscriber<? super T> subscriber) {
            this.start = start;
            this.subscriber = subscriber;
        }

        @Override
        public void request(long elements) {
            if (elements <= 0) {
                if (state.getAndSet(OVER) != OVER) {
                    subscriber.onError(
                            new IllegalArgumentException("request must be positive (rule 3.9)"));
                }
                return;
            }
            if (!state.compareAndSet(null, STARTING)) {
                return;
            }
            CompletableFuture<? extends @Nullable T> future;
            try {
                future = start.get();
            } catch (RuntimeException refused) {
                if (state.getAndSet(OVER) != OVER) {
                    subscriber.onError(refused);
                }
                return;
            }
            if (!state.compareAndSet(STARTING, future)) {
                future.cancel(false);
                return;
            }
            future.whenComplete(this::ended);
        }

        private void ended(@Nullable T value, @Nullable Throwable failure) {
            if (state.getAndSet(OVER) == OVER) {
                return;
            }
            if (failure != null) {
                subscriber.onError(Sender.unwrapped(failure));
                return;
            }
            if (value != null) {
                subscriber.onNext(value);
            }
            subscriber.onComplete();
        }

        @Override
        public void cancel() {
            CompletableFuture<?> before = state.getAndSet(OVER);
            if (before != null) {
                before.cancel(false);
            }
        }
    }
}
