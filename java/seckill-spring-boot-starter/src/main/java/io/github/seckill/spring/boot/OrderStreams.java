package io.github.seckill.spring.boot;

import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.function.BiFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Whether listeners read what the server writes. Where none of it is read, that is no failure yet:
 * SECKILL.TRYKEYS or a program of the shop may write what is. So it is said, as long as nothing
 * shows that it is meant.
 *
 * @param server answers a command with one argument, also by an error
 */
record OrderStreams(BiFunction<String, String, @Nullable Object> server) {
    private static final Pattern ESCAPED = Pattern.compile("\\\\(\\\\|x(..))");

    /** What to say of listeners that read these streams, if there is anything. */
    Optional<String> difference(Set<String> read) {
        if (read.isEmpty()) {
            return Optional.empty();
        }
        if (!(server.apply("INFO", "seckill") instanceof String info)
                || !info.contains("seckill_order_stream:")) {
            return Optional.of("INFO does not tell whether the server writes the streams " + read
                    + ": grant +info to the application's user");
        }
        String orders = setting(info, "order_stream");
        boolean tagged = setting(info, "hash_tags").equals("yes");
        boolean isWritten = Stream
                .of(orders, orders + ".confirmed", orders + ".released",
                        setting(info, "draw_stream"))
                .anyMatch(name -> read.stream().anyMatch(stream ->
                        tagged ? stream.startsWith(name + ":{") : stream.equals(name)));
        if (isWritten || !tagged && othersWrite(read, orders)) {
            return Optional.empty();
        }
        String properties = "seckill.listener.stream=" + orders
                + (tagged ? " and the hash tags in seckill.listener.tags" : ", and no tags");
        return Optional.of(
                "The server writes orders to " + (orders.isEmpty() ? "no stream" : orders)
                        + (tagged ? ":{tag}" : "") + ", and the listeners read " + read + ". "
                        + (orders.isEmpty() ? "Set its seckill.order-stream" : "Set " + properties)
                        + ", unless SECKILL.TRYKEYS or another program writes what they read");
    }

    private boolean othersWrite(Set<String> read, String orders) {
        return !hasEntries(orders) && read.stream().anyMatch(this::hasEntries);
    }

    private boolean hasEntries(String stream) {
        return server.apply("XLEN", stream) instanceof Long length && length > 0;
    }

    /** A field of INFO, which has no other bytes than those of ASCII. */
    private static String setting(String info, String name) {
        String field = "seckill_" + name + ":";
        String shown = info.lines().filter(line -> line.startsWith(field)).findFirst()
                .map(line -> line.substring(field.length()).stripTrailing()).orElse("");
        String bytes = ESCAPED.matcher(shown).replaceAll(escaped -> escaped.group(2) == null
                ? "\\\\"
                : Matcher.quoteReplacement(
                        String.valueOf((char) Integer.parseInt(escaped.group(2), 16))));
        return new String(bytes.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8);
    }
}
