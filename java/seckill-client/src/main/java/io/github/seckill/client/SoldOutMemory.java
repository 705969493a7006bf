package io.github.seckill.client;

import io.github.seckill.client.SeckillTransport.StockListener;
import io.github.seckill.client.SeckillTransport.StockWatch;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;

/**
 * Remembers which vouchers are sold out, for as long as the server would say if they were not.
 *
 * <p>After the server has said sold out, the stock is read on a connection on which the server
 * announces its next change. Only if nothing is left then, the voucher is marked; and the mark goes
 * with the announcement, with the connection, and after a while in any case.
 *
 * <p>An order id that was sent and not refused is never answered from here: its order may exist,
 * and the server knows.
 */
final class SoldOutMemory implements StockListener, AutoCloseable {
    /** Beyond so many the server is asked again. */
    private static final int VOUCHERS_MAX = 10_000;

    private final StockWatch watch;
    private final String prefix;
    private final boolean hashTags;
    private final long longestNanos;
    private final ConcurrentMap<String, Mark> marks = Bounded.map(VOUCHERS_MAX);
    /** How many tries of an order are under way. */
    private final ConcurrentMap<OrderId, Integer> underWay = new ConcurrentHashMap<>();
    private final KnownOrders known = new KnownOrders();

    private record OrderId(String voucher, String id) {}

    /** Sold out, from the moment in which the stock was read. Not yet while it is being read. */
    private static final class Mark {
        private volatile boolean read;
        private volatile long until;
    }

    private SoldOutMemory(SeckillTransport transport, SeckillOptions options) {
        this.prefix = options.values.stockPrefix;
        this.hashTags = options.values.hashTags || transport.isCluster();
        this.longestNanos = options.values.soldOutFor.toNanos();
        StockWatch watch = transport.watchStocks(this);
        if (watch == null) {
            throw new IllegalArgumentException(
                    "rememberSoldOut needs a transport that can watch keys: Lettuce");
        }
        this.watch = watch;
    }

    static @Nullable SoldOutMemory of(SeckillTransport transport, SeckillOptions options) {
        return options.values.rememberSoldOut ? new SoldOutMemory(transport, options) : null;
    }

    /** Whether a new order of this voucher would be sold out. */
    boolean isSoldOut(String voucher, String orderId) {
        Mark mark = marks.get(voucher);
        if (mark == null || !mark.read) {
            return false;
        }
        if (System.nanoTime() - mark.until >= 0) {
            marks.remove(voucher, mark);
            return false;
        }
        return orderId.equals(Try.ID_OF_SERVER)
                || !underWay.containsKey(new OrderId(voucher, orderId))
                        && !known.has(voucher, orderId);
    }

    /** The server is about to be asked. */
    void sending(String voucher, String orderId) {
        if (!orderId.equals(Try.ID_OF_SERVER)) {
            underWay.merge(new OrderId(voucher, orderId), 1, Integer::sum);
        }
    }

    /** The server has answered, or nobody has: {@link Outcome#UNKNOWN}. */
    void answered(String voucher, String orderId, Outcome outcome) {
        if (!orderId.equals(Try.ID_OF_SERVER)) {
            switch (outcome) {
                case ACCEPTED, RELEASED, WAITING, UNKNOWN -> known.add(voucher, orderId);
                default -> {}
            }
            refused(voucher, orderId);
        }
        if (outcome == Outcome.SOLD_OUT) {
            soldOut(voucher);
        }
    }

    /** The server has refused the try as a mistake, or it was not sent: it has no order. */
    void refused(String voucher, String orderId) {
        underWay.computeIfPresent(
                new OrderId(voucher, orderId), (order, tries) -> tries == 1 ? null : tries - 1);
    }

    /** The server has said that the voucher is sold out. */
    void soldOut(String voucher) {
        Mark mark = new Mark();
        if (marks.putIfAbsent(voucher, mark) != null) {
            return;
        }
        long asked = System.nanoTime();
        watch.watch(key(voucher)).whenComplete((stock, failed) -> {
            if (failed == null && stock != null && stock <= 0) {
                // If the stock has changed since, this mark is no longer there.
                mark.until = asked + longestNanos;
                mark.read = true;
            } else {
                marks.remove(voucher, mark);
            }
        });
    }

    private String key(String voucher) {
        return hashTags && !hasTag(voucher) ? prefix + '{' + voucher + '}' : prefix + voucher;
    }

    private static boolean hasTag(String voucher) {
        int open = voucher.indexOf('{');
        return open >= 0 && voucher.indexOf('}', open) > open + 1;
    }

    @Override
    public void changed(String key) {
        if (!key.startsWith(prefix)) {
            return;
        }
        // The vouchers 7 and {7} have the same stock where hash tags are on.
        String voucher = key.substring(prefix.length());
        marks.remove(voucher);
        if (hashTags && voucher.startsWith("{") && voucher.endsWith("}")) {
            marks.remove(voucher.substring(1, voucher.length() - 1));
        }
    }

    @Override
    public void allChanged() {
        marks.clear();
    }

    @Override
    public void close() {
        marks.clear();
        watch.close();
    }
}
