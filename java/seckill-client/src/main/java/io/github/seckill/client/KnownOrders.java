package io.github.seckill.client;

import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * Orders that may exist. Whatever was added is found, until a million others have come; and by
 * chance one in some hundred of all others is, for which the server is asked. So four megabytes do.
 */
final class KnownOrders {
    private static final int ORDERS_MAX = 1_000_000;
    private static final int BITS_LOG = 24;
    private static final int HASHES = 4;

    private volatile Generation earlier = new Generation(0);
    private volatile Generation current = new Generation(BITS_LOG);

    /** A Bloom filter. */
    private static final class Generation {
        private final AtomicLongArray words;
        private final AtomicInteger count = new AtomicInteger();

        Generation(int bitsLog) {
            words = new AtomicLongArray(1 << Math.max(0, bitsLog - 6));
        }

        private long bit(long hash, int i) {
            return (hash + i * (hash >>> 32 | 1)) & (words.length() * 64L - 1);
        }

        void add(long hash) {
            for (int i = 0; i < HASHES; i++) {
                long bit = bit(hash, i);
                words.accumulateAndGet((int) (bit >>> 6), 1L << bit, (old, one) -> old | one);
            }
        }

        boolean has(long hash) {
            for (int i = 0; i < HASHES; i++) {
                long bit = bit(hash, i);
                if ((words.get((int) (bit >>> 6)) & 1L << bit) == 0) {
                    return false;
                }
            }
            return true;
        }
    }

    void add(String voucher, String orderId) {
        Generation filled = current;
        filled.add(hash(voucher, orderId));
        if (filled.count.incrementAndGet() == ORDERS_MAX) {
            earlier = filled;
            current = new Generation(BITS_LOG);
        }
    }

    boolean has(String voucher, String orderId) {
        long hash = hash(voucher, orderId);
        return current.has(hash) || earlier.has(hash);
    }

    private static long hash(String voucher, String orderId) {
        long hash = 0xcbf29ce484222325L;
        for (String text : new String[] {voucher, orderId}) {
            for (int i = 0; i < text.length(); i++) {
                hash = (hash ^ text.charAt(i)) * 0x100000001b3L;
            }
            hash = (hash ^ 0x10000) * 0x100000001b3L;
        }
        hash = (hash ^ hash >>> 33) * 0xff51afd7ed558ccdL;
        return hash ^ hash >>> 33;
    }
}
