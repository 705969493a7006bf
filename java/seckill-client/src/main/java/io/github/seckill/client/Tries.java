package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Tries: answered from memory, sent alone or together, and told to the observer. */
record Tries(
        Sender sender, SeckillObserver observer, @Nullable SoldOutMemory memory,
        @Nullable Coalescer coalescer)
        implements AutoCloseable {
    <T> CompletableFuture<T> start(Try<T> attempt) {
        Buying<T> buying = new Buying<>(this, attempt);
        SoldOutMemory remembers = memory(attempt);
        if (remembers != null) {
            if (!attempt.waits() && remembers.isSoldOut(attempt.voucher, attempt.orderId)) {
                observer.rememberedSoldOut();
                observer.tried(attempt.voucher, Outcome.SOLD_OUT, since(buying));
                buying.complete(attempt.as(new Bought(Outcome.SOLD_OUT, null)));
                return buying;
            }
            remembers.sending(attempt.voucher, attempt.orderId);
        }
        if (coalescer != null && attempt.mayTravel()) {
            coalescer.add(buying);
        } else {
            alone(sender, buying, () -> {});
        }
        return buying;
    }

    /** Sends one try by itself. */
    static void alone(Sender sender, Buying<?> buying, Runnable firstAnswer) {
        sender.call(buying.attempt.call, firstAnswer).whenComplete((bought, failure) -> {
            if (failure == null) {
                buying.decided(bought);
            } else {
                buying.failed(failure);
            }
        });
    }

    private @Nullable SoldOutMemory memory(Try<?> attempt) {
        return attempt.isByName() ? memory : null;
    }

    private void remember(Buying<?> buying, Outcome outcome) {
        SoldOutMemory remembers = memory(buying.attempt);
        if (remembers != null) {
            remembers.answered(buying.attempt.voucher, buying.attempt.orderId, outcome);
        }
    }

    void decided(Buying<?> buying, Outcome outcome) {
        remember(buying, outcome);
        observer.tried(buying.attempt.voucher, outcome, since(buying));
    }

    void failed(Buying<?> buying, SeckillException mistake) {
        SoldOutMemory remembers = memory(buying.attempt);
        if (remembers != null) {
            remembers.refused(buying.attempt.voucher, buying.attempt.orderId);
        }
        observer.failed(buying.attempt.voucher, mistake);
    }

    /** Nobody waits any more. It may have been sent. */
    void cancelled(Buying<?> buying) {
        remember(buying, Outcome.UNKNOWN);
    }

    private static Duration since(Buying<?> buying) {
        return Duration.ofNanos(System.nanoTime() - buying.came);
    }

    @Override
    public void close() {
        if (coalescer != null) {
            coalescer.close();
        }
        if (memory != null) {
            memory.close();
        }
    }

    /** A try and who waits for it. One that is cancelled before it is sent is not sent. */
    static final class Buying<T> extends CompletableFuture<T> {
        final Try<T> attempt;
        final long came = System.nanoTime();
        private final Tries tries;

        Buying(Tries tries, Try<T> attempt) {
            this.tries = tries;
            this.attempt = attempt;
        }

        void decided(Bought bought) {
            try {
                if (complete(attempt.as(bought))) {
                    tries.decided(this, bought.outcome());
                }
            } catch (RuntimeException | LinkageError broken) {
                failed(broken);
            }
        }

        /** An observer that throws keeps nobody else of a batch from hearing. */
        void failed(Throwable failure) {
            SeckillException said = Sender.unwrapped(failure);
            try {
                if (completeExceptionally(said)) {
                    tries.failed(this, said);
                }
            } catch (RuntimeException broken) {
                said.addSuppressed(broken);
            }
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            boolean cancelled = super.cancel(mayInterrupt);
            if (cancelled) {
                tries.cancelled(this);
            }
            return cancelled;
        }
    }
}
