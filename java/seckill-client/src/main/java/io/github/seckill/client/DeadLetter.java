package io.github.seckill.client;

import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An entry of a stream that no order could be made of.
 *
 * @param id its id in the stream of dead letters
 * @param fields all its fields: those of the entry, and those that begin with {@code dlq}
 */
public record DeadLetter(String id, Map<String, String> fields) {
    public DeadLetter {
        fields = Map.copyOf(fields);
    }

    /** Why it was rejected. */
    public @Nullable String reason() {
        return fields.get("dlqReason");
    }

    /** What became of its order: {@code rejected}, {@code released} or {@code unknown}. */
    public @Nullable String order() {
        return fields.get("dlqOrder");
    }

    /** The id of the entry in its stream. */
    public @Nullable String entryId() {
        return fields.get("dlqId");
    }
}
