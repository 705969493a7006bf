package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongFunction;
import org.jspecify.annotations.Nullable;

/**
 * A command that can name the sale it is meant for. Those of an order do so by {@link
 * OrderRef#inSale}.
 *
 * @param <T> what it replies
 */
public abstract sealed class SaleCommand<T> extends SeckillCommand<T>
        permits Call, Try, SaleCommand.Composed {
    SaleCommand() {}

    /**
     * The same command, if this is the voucher's sale: a late one then never touches the next sale.
     * A try of another sale is {@link Outcome#ENDED}, and never part of a batch. Other commands
     * fail as {@link SeckillException.Code#SALE}.
     *
     * @param sale an id of {@link SaleInfo#sale()} or of an entry of a stream
     */
    public abstract SaleCommand<T> inSale(long sale);

    /** This one, and then another that is made of its reply. */
    <U> SaleCommand<U> then(Function<? super T, SeckillCommand<U>> next, @Nullable U unanswered) {
        return new Composed<>(
                name(), (sender, tries) -> new Chain<>(
                        start(sender, tries), reply -> next.apply(reply).start(sender, tries)),
                sale -> inSale(sale).then(next, unanswered), unanswered);
    }

    /** A value where a command is expected. */
    static <T> SaleCommand<T> value(T value) {
        return new Composed<>(
                "", (sender, tries) -> CompletableFuture.completedFuture(value), sale -> value(value),
                value);
    }

    /** Several commands, or none. */
    static final class Composed<T> extends SaleCommand<T> {
        private final String name;
        private final BiFunction<Sender, Tries, CompletableFuture<T>> how;
        private final LongFunction<SaleCommand<T>> inSale;
        private final @Nullable T unanswered;

        private Composed(
                String name, BiFunction<Sender, Tries, CompletableFuture<T>> how,
                LongFunction<SaleCommand<T>> inSale, @Nullable T unanswered) {
            this.name = name;
            this.how = how;
            this.inSale = inSale;
            this.unanswered = unanswered;
        }

        @Override
        CompletableFuture<T> start(Sender sender, Tries tries) {
            return how.apply(sender, tries);
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        @Nullable T unanswered() {
            return unanswered;
        }

        @Override
        public SaleCommand<T> inSale(long sale) {
            return inSale.apply(sale);
        }
    }

    /** Two steps. However it ends, also because its caller gives up, so does the step in hand. */
    private static final class Chain<T, U> extends CompletableFuture<U> {
        private volatile CompletableFuture<?> step;

        Chain(CompletableFuture<T> first, Function<T, CompletableFuture<U>> next) {
            step = first;
            whenComplete((value, failed) -> step.cancel(false));
            first.whenComplete((reply, failed) -> {
                try {
                    if (failed != null) {
                        completeExceptionally(Sender.unwrapped(failed));
                    } else if (!isDone()) {
                        second(next.apply(reply));
                    }
                } catch (RuntimeException broken) {
                    completeExceptionally(Sender.unwrapped(broken));
                }
            });
        }

        private void second(CompletableFuture<U> second) {
            step = second;
            second.whenComplete((value, failed) -> {
                if (failed == null) {
                    complete(value);
                } else {
                    completeExceptionally(Sender.unwrapped(failed));
                }
            });
            if (isDone()) {
                second.cancel(false);
            }
        }
    }
}
