package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;

/** A command that buys. The client may send it with others. */
public final class Try extends Call<Purchase> {
    final String voucher;
    /** With others in one command: one unit, and nothing else is said. */
    final boolean mayTravel;

    Try(String voucher, Call<Purchase> call, boolean mayTravel) {
        super(call);
        this.voucher = voucher;
        this.mayTravel = mayTravel;
    }

    private Try alone(Call<Purchase> call) {
        return new Try(voucher, call, false);
    }

    @Override
    public Try inSale(long sale) {
        return alone(super.inSale(sale));
    }

    /**
     * The same try, which waits in the queue where it would be {@link Outcome#SOLD_OUT}: {@link
     * Outcome#WAITING}. For managed vouchers with a hold. It is always sent, and alone.
     */
    public Try waitlist() {
        return alone(with("WAITLIST"));
    }

    /**
     * The same try, if the user has at most this many units after it, or as many as the voucher's
     * own limit allows if these are fewer; else {@link Outcome#AT_LIMIT}. For managed vouchers. It
     * is always sent, and alone.
     */
    public Try limit(long limit) {
        return alone(option("LIMIT", Args.range(limit, "limit", 1, Long.MAX_VALUE)));
    }

    @Override
    CompletableFuture<Purchase> start(Sender sender) {
        return sender.start(this);
    }
}
