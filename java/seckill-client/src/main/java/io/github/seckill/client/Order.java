package io.github.seckill.client;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * An order of a managed voucher.
 *
 * @param units how many units it has, or had
 * @param asked how many units its try asked for: more than it has after {@link
 *     Commands#cancelAllBut}
 * @param was what it was before it was released; null if it is not
 * @param deadline when it expires, if it is held
 * @param paymentRef the payment's reference, if it was confirmed with one
 * @param sale the id of the voucher's sale, which a payment names: {@link OrderRef#inSale}
 * @param position its place in the queue, where 1 is next, if it waits
 */
public record Order(
        String user, long units, long asked, State state, @Nullable State was,
        @Nullable Instant deadline, @Nullable String paymentRef, @Nullable Long sale,
        @Nullable Long position) {
    /** Where an order stands. */
    public enum State {
        /** It waits in the queue for units, and has none yet. */
        WAITING,
        /** Its units are reserved until its deadline. */
        HELD,
        /** Its units are the user's. */
        SOLD,
        /** Its units were released by {@link Commands#cancel}. */
        CANCELLED,
        /** Its units were released at its deadline. */
        EXPIRED,
        /** Its units were released by {@link Commands#reject}. */
        REJECTED
    }
}
