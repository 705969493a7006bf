package io.github.seckill.client;

import io.github.seckill.client.Try.Bought;
import java.math.BigInteger;
import java.time.Duration;
import java.time.Instant;
import java.util.*;
import java.util.function.Function;
import java.util.stream.Stream;
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

    static <E extends Enum<E>> E word(Class<E> type, @Nullable Object reply) {
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

    /** An outcome, or the pair of it and the id that the server has made. */
    static Bought bought(@Nullable Object reply) {
        if (reply instanceof List<?> pair) {
            Object id = pair.get(1);
            return new Bought(Outcome.of(integer(pair.get(0))), id == null ? null : text(id));
        }
        return new Bought(Outcome.of(integer(reply)), null);
    }

    static Purchase purchase(Bought bought) {
        String id = bought.orderId();
        return switch (bought.outcome()) {
            case ACCEPTED -> new Purchase.Accepted(text(id));
            case WAITING -> new Purchase.Waiting(text(id));
            case UNKNOWN -> new Purchase.Unknown();
            default -> new Purchase.Refused(bought.outcome());
        };
    }

    static AttemptResult attempt(@Nullable Object reply) {
        return reply instanceof SeckillException mistake
                ? new AttemptResult.Mistaken(mistake)
                : new AttemptResult.Decided(bought(reply).outcome());
    }

    /** The results of a batch of so many tries. */
    static <T> List<T> each(
            @Nullable Object reply, int size, Function<@Nullable Object, T> result) {
        List<?> elements = list(reply);
        if (elements.size() != size) {
            throw SeckillException.unexpected(elements.size() + " outcomes of " + size + " tries");
        }
        return elements.stream().<T>map(result::apply).toList();
    }

    static Reservation reservation(String orderId, Optional<Order> found) {
        if (found.isEmpty()) {
            // An unmanaged voucher has no book: what is accepted there is sold.
            return new Reservation.Sold(orderId, 1);
        }
        Order order = found.get();
        long units = order.units();
        return switch (order.state()) {
            case WAITING ->
                    new Reservation.Waiting(orderId, units, present(order.position(), "position"));
            case HELD ->
                    new Reservation.Held(
                            orderId, units, present(order.deadline(), "deadline"),
                            present(order.sale(), "sale"));
            case SOLD -> new Reservation.Sold(orderId, units);
            default -> new Reservation.Refused(Outcome.RELEASED);
        };
    }

    private static <T> T present(@Nullable T value, String name) {
        if (value == null) {
            throw SeckillException.unexpected("no " + name);
        }
        return value;
    }

    static Deduction deduction(@Nullable Object reply) {
        long before = integer(reply);
        if (before > 0) {
            return new Deduction.Taken(before);
        }
        return before == 0 ? new Deduction.TooFew() : new Deduction.NoKey();
    }

    static Prize prize(@Nullable Object reply) {
        List<?> pair = list(reply);
        return switch ((int) integer(pair.get(0))) {
            case 0 -> new Prize.Drawn(text(pair.get(1)));
            case 1 -> new Prize.Empty();
            case 2 -> new Prize.DrawnBefore(text(pair.get(1)));
            default -> throw SeckillException.unexpected("prize " + pair.get(0));
        };
    }

    static List<String> ids(@Nullable Object reply, int count) {
        BigInteger first = new BigInteger(text(reply));
        return Stream.iterate(first, id -> id.add(BigInteger.ONE)).limit(count)
                .map(BigInteger::toString).toList();
    }

    static Optional<Order> order(@Nullable Object reply) {
        return Optional.ofNullable(reply).map(Fields::new).map(fields -> new Order(
                text(fields.get("user")), integer(fields.get("units")),
                integer(fields.get("asked")), word(OrderState.class, fields.get("state")),
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
                flag(fields.get("managed")), word(SaleState.class, fields.get("state")),
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
        List<DeadLetter> letters = new ArrayList<>();
        for (Object entry : list(reply)) {
            List<?> pair = list(entry);
            Map<String, String> fields = new HashMap<>();
            new Fields(pair.get(1)).values.forEach((name, value) -> fields.put(name, text(value)));
            letters.add(new DeadLetter(text(pair.get(0)), fields));
        }
        return List.copyOf(letters);
    }

    /** Names and values in turn. */
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

        /** Null where there is none. */
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

        @Nullable OrderState state(String name) {
            return read(name, word -> word(OrderState.class, word));
        }

        @Nullable Instant instant(String name) {
            return read(name, millis -> Instant.ofEpochMilli(integer(millis)));
        }
    }
}
