package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * A command that buys. The client may send it with others.
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
    private final boolean mayTravel;
    private final Function<Bought, T> as;

    Try(
            String voucher, String user, String orderId, Call<Bought> call, boolean mayTravel,
            Function<Bought, T> as) {
        this.voucher = voucher;
        this.user = user;
        this.orderId = orderId;
        this.call = call;
        this.mayTravel = mayTravel;
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
        return new Try<>(voucher, user, orderId, call.inSale(sale), false, as);
    }

    /**
     * The same try, which waits in line where it would be {@link Outcome#SOLD_OUT}: {@link
     * Outcome#WAITING}. For managed vouchers with a hold. It is always sent, and alone.
     */
    public Try<T> waitlist() {
        return new Try<>(voucher, user, orderId, call.with("WAITLIST"), false, as);
    }

    /**
     * The same try, if the user has at most this many units after it, or as many as the voucher's
     * own limit allows if these are fewer; else {@link Outcome#AT_LIMIT}. For managed vouchers. It
     * is always sent, and alone.
     */
    public Try<T> limit(long limit) {
        Args.range(limit, "limit", 1, Long.MAX_VALUE);
        Call<Bought> limited = call.option("LIMIT", limit);
        return new Try<>(voucher, user, orderId, limited, false, as);
    }

    T as(Bought bought) {
        return as.apply(bought);
    }

    /** With others in one command: one unit, and nothing else is said. */
    boolean mayTravel() {
        return mayTravel;
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
