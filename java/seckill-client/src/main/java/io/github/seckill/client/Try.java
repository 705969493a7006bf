package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command that buys. The client may answer it from memory, or send it with others.
 *
 * @param <T> what it replies
 */
public final class Try<T> extends SaleCommand<T> {
    /** The order id that has the server make one. */
    static final String ID_OF_SERVER = "*";

    final String voucher;
    final String user;
    final String orderId;
    final Call<Bought> call;
    private final Kind kind;
    private final Function<Bought, T> as;

    /** What may be done with a try besides sending it. */
    enum Kind {
        /** One unit of a voucher by its name: sold out is remembered, and it may travel. */
        SINGLE,
        /** Several units, or the sale is named: it goes alone. */
        ALONE,
        /** It waits if all is sold: it goes alone, and sold out is not said from memory. */
        WAITING,
        /** The keys are spelled out: it goes alone, and nothing is remembered. */
        KEYED
    }

    Try(
            String voucher, String user, String orderId, Call<Bought> call, Kind kind,
            Function<Bought, T> as) {
        this.voucher = voucher;
        this.user = user;
        this.orderId = orderId;
        this.call = call;
        this.kind = kind;
        this.as = as;
    }

    /**
     * What became of a try.
     *
     * @param orderId the id that the server has made, if it was asked to and has accepted
     */
    record Bought(Outcome outcome, @Nullable String orderId) {
        static final Bought UNKNOWN = new Bought(Outcome.UNKNOWN, null);
    }

    @Override
    public Try<T> inSale(long sale) {
        Kind alone = kind == Kind.SINGLE ? Kind.ALONE : kind;
        return new Try<>(voucher, user, orderId, call.inSale(sale), alone, as);
    }

    /**
     * The same try, which waits in line where it would be {@link Outcome#SOLD_OUT}: {@link
     * Outcome#WAITING}. For managed vouchers with a hold. It is always sent, and alone.
     */
    public Try<T> waitlist() {
        return new Try<>(voucher, user, orderId, call.with("WAITLIST"), Kind.WAITING, as);
    }

    T as(Bought bought) {
        return as.apply(bought);
    }

    boolean isByName() {
        return kind != Kind.KEYED;
    }

    boolean waits() {
        return kind == Kind.WAITING;
    }

    boolean mayTravel() {
        return kind == Kind.SINGLE;
    }

    @Override
    public String name() {
        return call.name();
    }

    @Override
    T unanswered() {
        return as(Bought.UNKNOWN);
    }

    @Override
    CompletableFuture<T> start(Sender sender, Tries tries) {
        return tries.start(this);
    }
}
