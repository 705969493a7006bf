package io.github.seckill.client;

import java.util.Locale;

/** Where an order of a managed voucher stands. */
public enum OrderState {
    /** It waits in line for units, and has none yet. */
    WAITING,
    /** Its units are set aside until its deadline. */
    HELD,
    /** Its units are the user's. */
    SOLD,
    /** Its units were released by {@link Commands#cancel}. */
    CANCELLED,
    /** Its units were released at its deadline. */
    EXPIRED,
    /** Its units were released by {@link Commands#reject}. */
    REJECTED;

    String word() {
        return name().toLowerCase(Locale.ROOT);
    }
}
