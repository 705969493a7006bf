package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A command of {@link Commands}: what is sent, what its reply means, and whether it may be sent
 * again. Making one sends nothing: {@link SeckillClient#run} and {@link SeckillClient#start} do,
 * each time that they are called.
 *
 * @param <T> what it replies
 */
public abstract sealed class SeckillCommand<T> permits Call, SeckillCommand.Steps {
    SeckillCommand() {}

    /** The name of the command on the wire: of the first one, if it consists of several. */
    public abstract String name();

    /**
     * The same command, if this is the voucher's sale: a late one then never touches the next sale.
     * A try of another sale is {@link Outcome#ENDED}, and never part of a batch; others fail as
     * {@link SeckillException.Code#SALE}. Those of an order have {@link OrderRef#inSale} instead.
     *
     * @param sale an id of {@link SaleInfo#sale()} or of an entry of a stream
     * @throws UnsupportedOperationException if it is no try, restock, alteration or drop
     */
    public abstract SeckillCommand<T> inSale(long sale);

    abstract CompletableFuture<T> start(Sender sender);

    /** What it replies when no answer came; null if that is {@link SeckillException.NoAnswer}. */
    abstract @Nullable T unanswered();

    /** What follows a reply: the end, or another command. */
    interface Step<T, U> {
        CompletableFuture<U> after(T reply, Sender sender);
    }

    /** This one, and then perhaps another, as its reply says. */
    <U> SeckillCommand<U> then(@Nullable U unanswered, Step<T, U> step) {
        return new Steps<>(this, step, unanswered);
    }

    /** Several commands. */
    static final class Steps<T, U> extends SeckillCommand<U> {
        private final SeckillCommand<T> first;
        private final Step<T, U> step;
        private final @Nullable U unanswered;

        private Steps(SeckillCommand<T> first, Step<T, U> step, @Nullable U unanswered) {
            this.first = first;
            this.step = step;
            this.unanswered = unanswered;
        }

        @Override
        public String name() {
            return first.name();
        }

        @Override
        public SeckillCommand<U> inSale(long sale) {
            return new Steps<>(first.inSale(sale), step, unanswered);
        }

        @Override
        @Nullable U unanswered() {
            return unanswered;
        }

        /** However it ends, also because its caller gives up, so does the step in flight. */
        @Override
        CompletableFuture<U> start(Sender sender) {
            CompletableFuture<U> result = new CompletableFuture<>();
            CompletableFuture<T> begun = first.start(sender);
            result.whenComplete((value, failed) -> begun.cancel(false));
            Sender.follow(begun.thenCompose(reply -> {
                if (result.isDone()) {
                    return result;
                }
                CompletableFuture<U> second = step.after(reply, sender);
                result.whenComplete((value, failed) -> second.cancel(false));
                return second.exceptionally(this::behindTheFirst);
            }), result);
            return result;
        }

        /** What was done before stays done, also where the step that follows is known not to be. */
        private U behindTheFirst(Throwable failed) {
            SeckillException said = SeckillException.of(failed);
            if (!(said instanceof SeckillException.NotNow)) {
                throw said;
            } else if (unanswered == null) {
                throw new SeckillException.NoAnswer("NOANSWER " + said.getMessage(), said);
            }
            return unanswered;
        }
    }
}
