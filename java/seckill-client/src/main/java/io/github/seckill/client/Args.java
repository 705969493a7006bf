package io.github.seckill.client;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** What commands may be made of: anything else is refused here, before it is sent. */
final class Args {
    private Args() {}

    static <T> T present(@Nullable T value, String name) {
        if (value == null) {
            throw new IllegalArgumentException(name + " must not be null");
        }
        return value;
    }

    /** A name: what is no UTF-16 would be sent as another name. */
    static String text(@Nullable String text, String name) {
        if (present(text, name).isEmpty()) {
            throw new IllegalArgumentException(name + " must not be empty");
        }
        for (int i = 0; i < text.length(); i++) {
            if (Character.isSurrogate(text.charAt(i))) {
                if (Character.charCount(text.codePointAt(i)) == 1) {
                    throw new IllegalArgumentException(name + " has half a character");
                }
                i++;
            }
        }
        return text;
    }

    static String orderId(@Nullable String orderId) {
        if (text(orderId, "orderId").equals("*")) {
            throw new IllegalArgumentException(
                    "orderId * would be made by the server, and another one by each repetition");
        }
        return orderId;
    }

    static long units(long units) {
        return range(units, "units", 1, Long.MAX_VALUE);
    }

    static long sale(long sale) {
        return range(sale, "sale", 1, OrderRef.SALE_MAX);
    }

    static long range(long value, String name, long min, long max) {
        if (value < min || value > max) {
            String bound = max == Long.MAX_VALUE ? "at least " + min : "from " + min + " to " + max;
            throw new IllegalArgumentException(name + " must be " + bound + ": " + value);
        }
        return value;
    }

    /** A time in milliseconds, at least one. */
    static long millis(@Nullable Duration time, String name) {
        return time(time, name, 1).toMillis();
    }

    /** A time that is neither less than so many milliseconds nor longer than anybody waits. */
    static Duration time(@Nullable Duration time, String name, long leastMs) {
        boolean tooShort = present(time, name).compareTo(Duration.ofMillis(leastMs)) < 0;
        if (tooShort || time.compareTo(SeckillOptions.TIME_MAX) > 0) {
            throw new IllegalArgumentException(
                    name + " must be from " + leastMs + " ms to "
                            + SeckillOptions.TIME_MAX.toDays() + " days: " + time);
        }
        return time;
    }
}
