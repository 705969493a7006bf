package io.github.seckill.client;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Tries: answered from memory, sent alone or together, and told to the observer. */
final class Tries implements AutoCloseable {
    private static final Runnable NOTHING = () -> {};

    private final Sender sender;
    private final SeckillObserver observer;
    private final @Nullable SoldOutMemory memory;
    private final @Nullable Coalescer coalescer;

    Tries(
            Sender sender,
            SeckillObserver observer,
            @Nullable SoldOutMemory memory,
            @Nullable Coalescer coalescer) {
        this.sender = sender;
        this.observer = observer;
        this.memory = memory;
        this.coalescer = coalescer;
    }

    CompletableFuture<Outcome> one(String voucher, String user, String orderId, long units) {
        long started = System.nanoTime();
        Args.orderId(orderId);
        Args.units(units);
        if (memory != null) {
            if (memory.isSoldOut(voucher, orderId)) {
                return fromMemory(voucher, started, Outcome.SOLD_OUT);
            }
            memory.sending(voucher, orderId);
        }
        CompletableFuture<Outcome> outcome;
        if (coalescer != null && units == 1) {
            outcome = coalescer.add(voucher, user, orderId);
        } else {
            observer.sent(1);
            Command command = Commands.tryOne(voucher, user, orderId, units);
            outcome = outcome(sender.callIfManaged(command, voucher, NOTHING));
        }
        outcome.whenComplete((is, failure) -> ended(voucher, orderId, started, is, failure));
        return outcome;
    }

    private <T> CompletableFuture<T> fromMemory(String voucher, long started, T soldOut) {
        observer.rememberedSoldOut();
        observer.tried(voucher, Outcome.SOLD_OUT, since(started));
        return CompletableFuture.completedFuture(soldOut);
    }

    /** The outcome of a single try, {@link Outcome#UNKNOWN} without an answer. */
    static CompletableFuture<Outcome> outcome(CompletableFuture<@Nullable Object> reply) {
        return reply.handle(
                (value, failure) -> {
                    if (failure == null) {
                        return Replies.outcome(value);
                    }
                    SeckillException said = Sender.unwrapped(failure);
                    if (said instanceof SeckillException.NoAnswer) {
                        return Outcome.UNKNOWN;
                    }
                    throw said;
                });
    }

    private void ended(
            String voucher,
            String orderId,
            long started,
            @Nullable Outcome outcome,
            @Nullable Throwable failure) {
        if (outcome != null) {
            if (memory != null) {
                memory.answered(voucher, orderId, outcome);
            }
            observer.tried(voucher, outcome, since(started));
        } else if (failure instanceof CancellationException) {
            // Nobody waits any more. It may have been sent.
            if (memory != null) {
                memory.answered(voucher, orderId, Outcome.UNKNOWN);
            }
        } else if (failure != null) {
            if (memory != null) {
                memory.refused(voucher, orderId);
            }
            observer.failed(voucher, Sender.unwrapped(failure));
        }
    }

    CompletableFuture<Purchase> withIdOfServer(String voucher, String user) {
        long started = System.nanoTime();
        if (memory != null && memory.isSoldOut(voucher, null)) {
            return fromMemory(voucher, started, new Purchase.Refused(Outcome.SOLD_OUT));
        }
        observer.sent(1);
        return sender.call(Commands.tryWithIdOfServer(voucher, user), Replies::purchase)
                .exceptionally(
                        failure -> {
                            SeckillException said = Sender.unwrapped(failure);
                            if (said instanceof SeckillException.NoAnswer) {
                                return new Purchase.Unknown();
                            }
                            observer.failed(voucher, said);
                            throw said;
                        })
                .thenApply(
                        purchase -> {
                            Outcome outcome = outcomeOf(purchase);
                            if (memory != null && outcome == Outcome.SOLD_OUT) {
                                memory.soldOut(voucher);
                            }
                            observer.tried(voucher, outcome, since(started));
                            return purchase;
                        });
    }

    private static Outcome outcomeOf(Purchase purchase) {
        if (purchase instanceof Purchase.Accepted) {
            return Outcome.ACCEPTED;
        }
        return purchase instanceof Purchase.Refused refused ? refused.outcome() : Outcome.UNKNOWN;
    }

    CompletableFuture<List<AttemptResult>> many(String voucher, List<Attempt> attempts) {
        List<String> pairs = new ArrayList<>(2 * attempts.size());
        for (Attempt attempt : attempts) {
            pairs.add(attempt.user());
            pairs.add(attempt.orderId());
        }
        observer.sent(attempts.size());
        return sender.callIfManaged(Commands.tryMany(voucher, pairs), voucher, NOTHING)
                .handle(
                        (reply, failure) -> {
                            if (failure == null) {
                                return Replies.attempts(reply, attempts.size());
                            }
                            SeckillException said = Sender.unwrapped(failure);
                            if (said instanceof SeckillException.NoAnswer) {
                                AttemptResult unknown = new AttemptResult.Decided(Outcome.UNKNOWN);
                                return Collections.nCopies(attempts.size(), unknown);
                            }
                            throw said;
                        });
    }

    CompletableFuture<Outcome> keys(KeyedTry attempt) {
        long started = System.nanoTime();
        observer.sent(1);
        CompletableFuture<Outcome> outcome =
                outcome(sender.call(Commands.tryKeys(attempt), reply -> reply));
        outcome.whenComplete(
                (is, failure) -> {
                    if (failure == null) {
                        observer.tried(attempt.voucher(), is, since(started));
                    } else {
                        observer.failed(attempt.voucher(), Sender.unwrapped(failure));
                    }
                });
        return outcome;
    }

    private static Duration since(long nanos) {
        return Duration.ofNanos(System.nanoTime() - nanos);
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
}
