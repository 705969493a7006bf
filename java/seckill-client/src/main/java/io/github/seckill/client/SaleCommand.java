package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.LongFunction;

/**
 * A command that can name the sale it is meant for. Those of an order do so by {@link
 * OrderRef#inSale}.
 *
 * @param <T> what it replies
 */
public abstract sealed class SaleCommand<T> extends Command<T>
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
    <U> SaleCommand<U> then(Function<? super T, Command<U>> next) {
        return new Composed<>(
                (sender, tries) -> start(sender, tries)
                        .thenCompose(reply -> next.apply(reply).start(sender, tries)),
                sale -> inSale(sale).then(next));
    }

    /** A value where a command is expected. */
    static <T> SaleCommand<T> value(T value) {
        return new Composed<>(
                (sender, tries) -> CompletableFuture.completedFuture(value), sale -> value(value));
    }

    /** Several commands, or none. */
    static final class Composed<T> extends SaleCommand<T> {
        private final BiFunction<Sender, Tries, CompletableFuture<T>> how;
        private final LongFunction<SaleCommand<T>> inSale;

        private Composed(
                BiFunction<Sender, Tries, CompletableFuture<T>> how,
                LongFunction<SaleCommand<T>> inSale) {
            this.how = how;
            this.inSale = inSale;
        }

        @Override
        CompletableFuture<T> start(Sender sender, Tries tries) {
            return how.apply(sender, tries);
        }

        @Override
        public SaleCommand<T> inSale(long sale) {
            return inSale.apply(sale);
        }
    }
}
