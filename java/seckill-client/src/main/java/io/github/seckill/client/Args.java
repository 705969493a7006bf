package io.github.seckill.client;

import java.util.Locale;

/** Checks of arguments and of what the server replies. */
final class Args {
    private Args() {}

    static String orderId(String orderId) {
        if (orderId.equals("*")) {
            throw new IllegalArgumentException(
                    "orderId * is made by the server: use tryBuy(voucher, user)");
        }
        return orderId;
    }

    static long units(long units) {
        if (units < 1) {
            throw new IllegalArgumentException("units must be at least 1: " + units);
        }
        return units;
    }

    static <E> E byCode(E[] values, long code, String what) {
        if (code < 0 || code >= values.length) {
            throw SeckillException.unexpected(what + " " + code);
        }
        return values[(int) code];
    }

    static <E extends Enum<E>> E byWord(Class<E> type, String word) {
        try {
            return Enum.valueOf(type, word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw SeckillException.unexpected(type.getSimpleName() + " " + word);
        }
    }
}
