package io.github.seckill.client;

import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * An entry of a stream that no order could be made of.
 *
 * @param id its id in the stream of dead letters
 * @param fields all its fields: those of the entry, and those that begin with {@code dlq}
 */
public record DeadLetter(String id, Map<String, String> fields) {
    /** With this the names of all that it says beside the fields of its entry begin. */
    public static final String PREFIX = "dlq";

    public DeadLetter {
        fields = Map.copyOf(fields);
    }

    /** What the dead letter of an entry says that nothing becomes of, behind its fields. */
    public static Map<String, String> behind(
            String stream, String group, String entryId, long deliveries, String reason) {
        Map<String, String> own = new LinkedHashMap<>();
        own.put("dlqStream", stream);
        own.put("dlqGroup", group);
        own.put("dlqId", entryId);
        own.put("dlqDeliveries", String.valueOf(deliveries));
        own.put("dlqReason", reason);
        own.put("dlqOrder", "unknown");
        return own;
    }

    /** The stream that its entry was in. */
    public @Nullable String stream() { return fields.get("dlqStream"); }

    /** The group that its consumer was in. */
    public @Nullable String group() { return fields.get("dlqGroup"); }

    /** Why it was rejected. */
    public @Nullable String reason() { return fields.get("dlqReason"); }

    /** What became of its order: {@code rejected}, {@code released} or {@code unknown}. */
    public @Nullable String order() { return fields.get("dlqOrder"); }

    /** The id of the entry in its stream. */
    public @Nullable String entryId() { return fields.get("dlqId"); }
}
