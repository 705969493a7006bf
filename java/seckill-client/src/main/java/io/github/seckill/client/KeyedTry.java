package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/**
 * A try on an unmanaged voucher whose keys are spelled out, for {@link Commands#tryKeys}.
 *
 * @param orderStream the stream of orders, or null for none
 * @param voucher what the entry of the stream calls the voucher
 * @param fields the names of the entry's fields, or null for those of the server's configuration
 * @param missingIsSoldOut whether a missing stock key is sold out and no mistake
 */
public record KeyedTry(
        String stockKey, String buyersKey, @Nullable String orderStream, String voucher,
        String user, String orderId, long units, @Nullable Fields fields,
        boolean missingIsSoldOut) {
    /**
     * The names of the fields of an order's entry.
     *
     * @param user the field of the user
     * @param voucher the field of the voucher
     * @param orderId the field of the order id
     */
    public record Fields(String user, String voucher, String orderId) {
        /** Refuses null and empty names. */
        public Fields {
            Args.text(user, "fields.user");
            Args.text(voucher, "fields.voucher");
            Args.text(orderId, "fields.orderId");
        }
    }

    /** Refuses null and empty names, an order id that the server would make, and units below 1. */
    public KeyedTry {
        Args.text(stockKey, "stockKey");
        Args.text(buyersKey, "buyersKey");
        Args.text(voucher, "voucher");
        Args.text(user, "user");
        Args.orderId(orderId);
        Args.units(units);
    }
}
