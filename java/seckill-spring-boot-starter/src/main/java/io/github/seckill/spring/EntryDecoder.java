package io.github.seckill.spring;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.OrderEvent.PaymentToRefund.Reason;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.*;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Makes events of entries: the same ones as the module does, of any fields. */
final class EntryDecoder {
    /** As the module writes numbers, and reads no others. */
    private static final Pattern NUMBER = Pattern.compile("0|[1-9][0-9]*");

    private static final Pattern ENTRY_ID = Pattern.compile("[0-9]{1,20}(-[0-9]{1,20})?");

    private final String user;
    private final String voucher;
    private final String orderId;

    /** An entry that is not an order: no command of the module writes such an entry. */
    @SuppressWarnings("serial") // It is never stored.
    static final class Malformed extends RuntimeException {
        Malformed(String why) {
            super(why);
        }
    }

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
     * @throws Malformed if this is not an order
     */
    OrderEvent decode(Kind kind, StreamEntry entry, Map<byte[], byte[]> raw) {
        Fields fields = new Fields(raw);
        for (String name : List.of(user, voucher, orderId)) {
            check(fields.has(name), "no field " + name);
        }
        check(!fields.ofDeadLetter(), "it is a dead letter");
        check(kind == Kind.RELEASED || !fields.has("reason"), "it is a release");
        String payment = fields.optional("payment", "first");
        Reason reason = payment.equals("first")
                ? null
                : word(Reason.class, payment, "payment is not the word of one");
        boolean mayBePayment = kind == Kind.CONFIRMED || kind == Kind.REFUND;
        check(mayBePayment || reason == null, "it is a payment");
        OrderRef order = new OrderRef(
                fields.required(voucher), fields.required(user), fields.required(orderId),
                fields.sale());
        long units = fields.units("units", 1);
        return switch (kind) {
            case PLACED -> {
                Long deadline = fields.number("deadline");
                Long waited = fields.number("waited");
                yield new OrderPlaced(
                        order, units, deadline == null ? null : Instant.ofEpochMilli(deadline),
                        waited == null ? null : Duration.ofMillis(waited), entry);
            }
            case CONFIRMED, REFUND -> {
                Long paid = fields.aboveZero("paid");
                check(paid == null || fields.has("ref"), "paid without ref");
                yield reason == null
                        ? new OrderConfirmed(order, units, paid, fields.text("ref"), entry)
                        : new PaymentToRefund(
                                order, units, paid, fields.required("ref"), reason, entry);
            }
            case RELEASED -> {
                Order.State now = fields.state("reason");
                check(
                        now != null && now.compareTo(Order.State.SOLD) > 0,
                        "reason is not cancelled, expired or rejected");
                Order.State was = fields.state("was");
                check(
                        was == null || was == Order.State.HELD || was == Order.State.SOLD,
                        "was is not held or sold");
                boolean norestock = fields.flag("norestock");
                boolean refunded = fields.flag("refunded");
                check(!refunded || fields.has("ref"), "refunded without ref");
                yield new OrderReleased(
                        order, units, fields.units("kept", 0), now, was, fields.text("ref"),
                        norestock, refunded, fields.entryId("entry"), entry);
            }
        };
    }

    private static void check(boolean holds, String why) {
        if (!holds) {
            throw new Malformed(why);
        }
    }

    private static <E extends Enum<E>> E word(Class<E> type, String word, String why) {
        return Arrays.stream(type.getEnumConstants())
                .filter(value -> value.name().toLowerCase(Locale.ROOT).equals(word)).findFirst()
                .orElseThrow(() -> new Malformed(why));
    }

    /** Only what is read must be in order: the other fields are the shop's own. */
    private record Fields(Map<byte[], byte[]> raw) {
        boolean ofDeadLetter() {
            return readable(raw).keySet().stream().anyMatch(name -> name.startsWith(DeadLetter.PREFIX));
        }

        private List<byte[]> values(String name) {
            byte[] wanted = name.getBytes(StandardCharsets.UTF_8);
            return raw.entrySet().stream().filter(field -> Arrays.equals(field.getKey(), wanted))
                    .map(Map.Entry::getValue).toList();
        }

        boolean has(String name) {
            return !values(name).isEmpty();
        }

        @Nullable String text(String name) {
            List<byte[]> values = values(name);
            check(values.size() < 2, "two fields " + name);
            try {
                return values.isEmpty()
                        ? null
                        : StandardCharsets.UTF_8.newDecoder()
                                .decode(ByteBuffer.wrap(values.get(0))).toString();
            } catch (CharacterCodingException malformed) {
                throw new Malformed(name + " is not UTF-8");
            }
        }

        String optional(String name, String absent) {
            String value = text(name);
            return value == null ? absent : value;
        }

        String required(String name) {
            String value = text(name);
            check(value != null, "no field " + name);
            return value;
        }

        @Nullable Long number(String name) {
            String value = text(name);
            try {
                check(value == null || NUMBER.matcher(value).matches(), name + " is not a number");
                return value == null ? null : Long.valueOf(value);
            } catch (NumberFormatException tooGreat) {
                throw new Malformed(name + " is not a number");
            }
        }

        @Nullable Long aboveZero(String name) {
            Long number = number(name);
            check(number == null || number > 0, name + " is not a number above 0");
            return number;
        }

        long units(String name, long absent) {
            Long units = aboveZero(name);
            return units == null ? absent : units;
        }

        boolean flag(String name) {
            String value = text(name);
            check(value == null || value.equals("1"), name + " is not 1");
            return value != null;
        }

        @Nullable String entryId(String name) {
            String value = text(name);
            check(value == null || ENTRY_ID.matcher(value).matches(), name + " is not an id");
            return value;
        }

        /** A field of this name that is no sale's id is the shop's own. */
        @Nullable Long sale() {
            String value = optional("sale", "");
            boolean isId = NUMBER.matcher(value).matches() && value.length() <= 16;
            long sale = isId ? Long.parseLong(value) : 0;
            return sale > 0 && sale <= OrderRef.SALE_MAX ? sale : null;
        }

        Order.@Nullable State state(String name) {
            String value = text(name);
            return value == null
                    ? null
                    : word(Order.State.class, value, name + " is not the word of a state");
        }
    }
}
