package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;

/** A try and who waits for it. One that is cancelled before it is sent is not sent. */
final class Buying<T> extends java.util.concurrent.CompletableFuture<T> {
    final Try<T> attempt;
    final long came = System.nanoTime();
    private final Tries tries;

    Buying(Tries tries, Try<T> attempt) {
        this.tries = tries;
        this.attempt = attempt;
    }

    void decided(Bought bought) {
        if (complete(attempt.as(bought))) {
            tries.decided(this, bought.outcome());
        }
    }

    void failed(Throwable failure) {
        SeckillException said = Sender.unwrapped(failure);
        if (completeExceptionally(said)) {
            tries.failed(this, said);
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
