package io.github.seckill.spring.listener;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.OrderState;
import io.github.seckill.spring.listener.PaymentToRefund.Reason;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Makes events of entries. */
final class EntryDecoder {
    private final String user;
    private final String voucher;
    private final String orderId;

    /** @param fields the server's {@code seckill.order-fields} */
    EntryDecoder(String fields) {
        List<String> names = List.of(fields.trim().split(" +"));
        if (names.size() != 3) {
            throw new IllegalArgumentException(
                    "order fields must be three names with spaces between: " + fields);
        }
        user = names.get(0);
        voucher = names.get(1);
        orderId = names.get(2);
    }

    /** For people only: bytes that are no UTF-8 are replaced. */
    static Map<String, String> readable(Map<byte[], byte[]> raw) {
        Map<String, String> fields = new LinkedHashMap<>();
        raw.forEach((name, value) -> fields.put(
                new String(name, StandardCharsets.UTF_8),
                new String(value, StandardCharsets.UTF_8)));
        return fields;
    }

    /**
     * Ids that are no UTF-8 are refused: what a string makes of them is another id.
     *
     * @throws MalformedEntryException if this is not an order
     */
    OrderEvent decode(Kind kind, StreamEntry entry, Map<byte[], byte[]> raw) {
        Map<String, String> fields = new LinkedHashMap<>();
        raw.forEach((name, value) -> fields.put(text(name), text(value)));
        OrderRef order = new OrderRef(
                required(fields, voucher), required(fields, user),
                required(fields, orderId), number(fields, "sale"));
        long units = units(fields, "units", 1);
        return switch (kind) {
            case PLACED -> {
                Long deadline = number(fields, "deadline");
                Long waited = number(fields, "waited");
                yield new OrderPlaced(
                        order, units, deadline == null ? null : Instant.ofEpochMilli(deadline),
                        waited == null ? null : Duration.ofMillis(waited), entry);
            }
            case CONFIRMED, REFUND -> {
                String payment = fields.getOrDefault("payment", "first");
                yield payment.equals("first")
                        ? new OrderConfirmed(order, units, fields.get("ref"), entry)
                        : new PaymentToRefund(
                                order, units, required(fields, "ref"), word(Reason.class, payment),
                                entry);
            }
            case RELEASED -> {
                String was = fields.get("was");
                yield new OrderReleased(
                        order, units, units(fields, "kept", 0),
                        word(OrderState.class, required(fields, "reason")),
                        was == null ? null : word(OrderState.class, was), fields.get("ref"), entry);
            }
        };
    }

    private static long units(Map<String, String> fields, String name, long absent) {
        Long units = number(fields, name);
        if (units != null && units < 1) {
            throw new MalformedEntryException(name + " must be at least 1: " + units);
        }
        return units == null ? absent : units;
    }

    private static String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException malformed) {
            throw new MalformedEntryException("a name or a value is not UTF-8");
        }
    }

    private static String required(Map<String, String> fields, String name) {
        String value = fields.get(name);
        if (value == null) {
            throw new MalformedEntryException("no field " + name);
        }
        return value;
    }

    private static @Nullable Long number(Map<String, String> fields, String name) {
        String value = fields.get(name);
        if (value == null) {
            return null;
        }
        try {
            return Long.valueOf(value);
        } catch (NumberFormatException malformed) {
            throw new MalformedEntryException(name + " is not an integer: " + value);
        }
    }

    private static <E extends Enum<E>> E word(Class<E> type, String word) {
        try {
            return Enum.valueOf(type, word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException malformed) {
            throw new MalformedEntryException("no " + type.getSimpleName() + ": " + word);
        }
    }
}
