package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;
import java.util.concurrent.CompletableFuture;

/** A try and who waits for it, in any case. One that is cancelled before it is sent is not sent. */
final class Buying<T> extends CompletableFuture<T> {
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
