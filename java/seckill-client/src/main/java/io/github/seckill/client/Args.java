package io.github.seckill.client;

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
}
