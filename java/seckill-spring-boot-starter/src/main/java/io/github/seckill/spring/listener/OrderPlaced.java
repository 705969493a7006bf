package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A new order.
 *
 * @param deadline when it is released unless it is confirmed before; null if it is sold already
 * @param waited how long it waited in line; null if it did not
 */
public record OrderPlaced(
        OrderRef order, long units, @Nullable Instant deadline, @Nullable Duration waited,
        StreamEntry entry)
        implements OrderEvent {
    /** Whether the order waits to be paid. */
    public boolean isHeld() {
        return deadline != null;
    }
}
