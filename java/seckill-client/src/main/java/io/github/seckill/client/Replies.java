package io.github.seckill.client;

import java.time.Duration;
import java.time.Instant;
import java.util.*;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Makes values of replies. What does not fit is {@link SeckillException.Code#REPLY}. */
final class Replies {
    private Replies() {}

    private static <T> T as(Class<T> type, @Nullable Object reply, String otherwise) {
        if (type.isInstance(reply)) {
            return type.cast(reply);
        }
        throw SeckillException.unexpected(otherwise);
    }

    static long integer(@Nullable Object reply) {
        return as(Long.class, reply, "not an integer");
    }

    static boolean flag(@Nullable Object reply) {
        return integer(reply) == 1;
    }

    /** The constant of an enum whose ordinals are the numbers on the wire. */
    static <E extends Enum<E>> Function<@Nullable Object, E> code(Class<E> type) {
        return reply -> {
            E[] all = type.getEnumConstants();
            long code = integer(reply);
            if (code < 0 || code >= all.length) {
                throw SeckillException.unexpected(type.getSimpleName() + " " + code);
            }
            return all[(int) code];
        };
    }

    private static <E extends Enum<E>> E word(Class<E> type, @Nullable Object reply) {
        String word = text(reply);
        try {
            return Enum.valueOf(type, word.toUpperCase(Locale.ROOT));
        } catch (IllegalArgumentException unknown) {
            throw SeckillException.unexpected(type.getSimpleName() + " " + word);
        }
    }

    static String text(@Nullable Object reply) {
        return as(String.class, reply, "no text");
    }

    static List<?> list(@Nullable Object reply) {
        return as(List.class, reply, "no array");
    }

    static Void nothing(@Nullable Object reply) {
        return null;
    }

    static Purchase purchase(@Nullable Object reply, String orderId) {
        return Purchase.of(Outcome.of(integer(reply)), orderId);
    }

    /** The results of so many tries. */
    static List<?> sized(@Nullable Object reply, int size) {
        List<?> elements = list(reply);
        if (elements.size() != size) {
            throw SeckillException.unexpected(elements.size() + " outcomes of " + size + " tries");
        }
        return elements;
    }

    static Map<String, Outcome> cart(@Nullable Object reply, List<String> vouchers) {
        List<?> codes = sized(reply, vouchers.size());
        Map<String, Outcome> outcomes = new LinkedHashMap<>();
        for (int i = 0; i < codes.size(); i++) {
            outcomes.put(vouchers.get(i), Outcome.of(integer(codes.get(i))));
        }
        return outcomes;
    }

    static Prize prize(@Nullable Object reply) {
        List<?> pair = list(reply);
        return switch ((int) integer(pair.get(0))) {
            case 0 -> new Prize(text(pair.get(1)), false);
            case 1 -> new Prize(null, false);
            case 2 -> new Prize(text(pair.get(1)), true);
            default -> throw SeckillException.unexpected("prize " + pair.get(0));
        };
    }

    static Optional<Order> order(@Nullable Object reply) {
        return Optional.ofNullable(reply).map(Fields::new).map(fields -> new Order(
                text(fields.get("user")), integer(fields.get("units")),
                integer(fields.get("asked")), word(Order.State.class, fields.get("state")),
                fields.state("was"), fields.instant("deadline"), fields.text("ref"),
                fields.number("sale"), fields.number("position")));
    }

    static Optional<BuyerStatus> status(@Nullable Object reply) {
        return Optional.ofNullable(reply).map(Fields::new).map(fields -> new BuyerStatus(
                fields.number("units"), fields.text("orderid"), fields.state("state"),
                fields.instant("deadline"), fields.number("waiting")));
    }

    static SaleInfo info(@Nullable Object reply) {
        Fields fields = new Fields(reply);
        return new SaleInfo(
                flag(fields.get("managed")), word(SaleInfo.State.class, fields.get("state")),
                fields.number("total"), fields.number("left"), fields.number("held"),
                fields.number("sold"), integer(fields.get("buyers")), fields.number("waiting"),
                fields.instant("begin"), fields.instant("end"), integer(fields.get("limit")),
                fields.read("hold", hold -> Duration.ofMillis(integer(hold))),
                fields.text("eviction"), fields.number("sale"),
                fields.read("consistent", Replies::flag));
    }

    static SaleAudit audit(@Nullable Object reply) {
        Fields fields = new Fields(reply);
        return new SaleAudit(
                integer(fields.get("total")), fields.number("left"), integer(fields.get("held")),
                integer(fields.get("sold")), integer(fields.get("orders")),
                integer(fields.get("buyers")), integer(fields.get("waiting")),
                flag(fields.get("changed")),
                list(fields.get("differences")).stream().map(Replies::text).toList());
    }

    static List<DeadLetter> deadLetters(@Nullable Object reply) {
        return list(reply).stream().map(entry -> {
            List<?> pair = list(entry);
            Map<String, String> fields = new HashMap<>();
            new Fields(pair.get(1)).values.forEach((name, value) -> fields.put(name, text(value)));
            return new DeadLetter(text(pair.get(0)), fields);
        }).toList();
    }

    /** Names and values in turn. What is not there is null. */
    private static final class Fields {
        private final Map<String, @Nullable Object> values = new HashMap<>();

        Fields(@Nullable Object reply) {
            List<?> flat = list(reply);
            for (int i = 0; i + 1 < flat.size(); i += 2) {
                values.put(Replies.text(flat.get(i)), flat.get(i + 1));
            }
        }

        @Nullable Object get(String name) {
            return values.get(name);
        }

        <T> @Nullable T read(String name, Function<Object, T> reader) {
            Object value = values.get(name);
            return value == null ? null : reader.apply(value);
        }

        @Nullable Long number(String name) {
            return read(name, Replies::integer);
        }

        @Nullable String text(String name) {
            return read(name, Replies::text);
        }

        Order.@Nullable State state(String name) {
            return read(name, word -> word(Order.State.class, word));
        }

        @Nullable Instant instant(String name) {
            return read(name, millis -> Instant.ofEpochMilli(integer(millis)));
        }
    }
}
