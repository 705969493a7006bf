package io.github.seckill.spring.listener;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An entry that a listener could not handle.
 *
 * @param event what it says, or null if it is not an order: a field is missing or malformed
 * @param cause what the listener threw
 * @param failures how often it has failed in this process
 * @param failingFor for how long it has been failing in this process
 */
public record OrderFailure(
        @Nullable OrderEvent event, StreamEntry entry, Map<String, String> fields, Throwable cause,
        long failures, Duration failingFor) {
    public OrderFailure {
        fields = Map.copyOf(fields);
    }

    /** Whether this is a new order that was held when it was placed. It may be sold by now. */
    public boolean isHeldOrder() {
        return event instanceof OrderPlaced placed && placed.isHeld();
    }
}
