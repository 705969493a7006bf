package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.Order;
import io.github.seckill.spring.*;
import io.github.seckill.spring.OrderEvent.*;
import io.lettuce.core.codec.ByteArrayCodec;
import java.io.IOException;
import java.lang.reflect.RecordComponent;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.util.ReflectionUtils;
import org.yaml.snakeyaml.Yaml;
import shop.documented.Pages;

/** Any entry is read as the module reads it: the vectors that its own reader has made. */
class EntriesTest {
    private static final String MORE = "more";
    private static final StreamEntry ENTRY = new StreamEntry("stream.orders", "rows", "1-1", 1);
    private static final byte[] NO_UTF_8 = {-1};

    @AutoClose private final ListenerShop shop = new ListenerShop();

    private static @Nullable Object number(@Nullable Object value) {
        return value instanceof Instant time ? (Object) time.toEpochMilli()
                : value instanceof Duration time ? (Object) time.toMillis() : value;
    }

    private static void put(Map<String, String> all, String name, @Nullable Object value) {
        if (value != null) {
            String text = value instanceof Enum<?> word
                    ? word.name().toLowerCase(Locale.ROOT) : String.valueOf(number(value));
            all.put(name, text);
        }
    }

    /** What an event says, by the names of the vectors. */
    private static Map<String, String> said(OrderEvent event) {
        Map<String, String> all = new TreeMap<>();
        boolean payment = event instanceof PaymentToRefund;
        put(all, "says", payment ? "payment" : event instanceof OrderPlaced ? "accepted"
                : event.kind());
        put(all, "id", event.order().orderId());
        List.of(event.order(), event).forEach(said -> {
            for (RecordComponent part : said.getClass().getRecordComponents()) {
                Object value = ReflectionUtils.invokeMethod(part.getAccessor(), said);
                switch (part.getName()) {
                    case "order", "orderId", "entry" -> { }
                    case "rejectedEntryId" -> put(all, "entry", value);
                    case "paymentRef" -> put(all, "ref", value);
                    case "reason" -> put(all, payment ? "payment" : "reason", value);
                    case "kept" -> put(all, "kept", Objects.equals(value, 0L) ? null : value);
                    default -> put(all, part.getName(), value);
                }
            }
        });
        return all;
    }

    private static byte[] bytes(Object text) {
        return text.toString().getBytes(StandardCharsets.UTF_8);
    }

    /** The vectors of entries, or those of dead letters. */
    private static List<Map<String, Object>> vectors(boolean letters) throws IOException {
        String json = Files.readString(Pages.ROOT.resolve("domain/vectors/entries.json"));
        return new Yaml().<List<Map<String, Object>>>load(json).stream()
                .filter(vector -> vector.get("stream").equals("orders.dlq") == letters).toList();
    }

    @SuppressWarnings("unchecked") // of JSON
    private static byte[][] fields(Map<String, Object> vector) {
        return ((List<List<Object>>) vector.get("fields")).stream().flatMap(List::stream)
                .map(EntriesTest::bytes).toArray(byte[][]::new);
    }

    @Test
    @EnabledIf("shop.documented.Pages#areHere")
    void everyDeadLetterIsReadAsByTheModule() throws Exception {
        List<Map<String, Object>> vectors = vectors(true);
        try (var raw = shop.lettuce.connect(ByteArrayCodec.INSTANCE)) {
            byte[] dlq = bytes("stream.orders.dlq");
            vectors.forEach(vector -> raw.sync().xadd(dlq, (Object[]) fields(vector)));
        }
        List<DeadLetter> letters = shop.client.deadLetters("stream.orders", "0", 100);
        assertThat(letters).hasSameSizeAs(vectors);
        for (int i = 0; i < letters.size(); i++) {
            DeadLetter letter = letters.get(i);
            if (vectors.get(i).get("read") instanceof Map<?, ?> read) {
                assertThat(read.get("stream")).isEqualTo(letter.stream());
                assertThat(read.get("group")).isEqualTo(letter.group());
                assertThat(read.get("entry")).isEqualTo(letter.entryId());
                assertThat(read.get("reason")).isEqualTo(letter.reason());
                assertThat(read.get("order")).isEqualTo(letter.order());
            }
        }
    }

    @Test
    @EnabledIf("shop.documented.Pages#areHere")
    void everyVectorIsReadAsByTheModule() throws Exception {
        Map<String, Map<String, String>> read = new ConcurrentHashMap<>();
        Recorder recorder = new Recorder();
        recorder.refuses = event -> {
            if (!event.order().orderId().equals(MORE)) {
                read.put(event.entry().stream() + " " + event.entry().id(), said(event));
            }
            return false;
        };
        Map<String, String> odd = new ConcurrentHashMap<>();
        shop.start(failure -> {
            String why = String.valueOf(failure.cause().getMessage());
            odd.put(failure.entry().stream() + " " + failure.entry().id(), why);
            return OrderFailurePolicy.Decision.DEAD_LETTER;
        }, recorder);
        Map<String, Map<String, String>> expected = new HashMap<>();
        try (var raw = shop.lettuce.connect(ByteArrayCodec.INSTANCE)) {
            for (Map<String, Object> vector : vectors(false)) {
                String which = "." + vector.get("stream");
                String stream = "stream.orders" + which.replace(".orders", "");
                String id = raw.sync().xadd(bytes(stream), (Object[]) fields(vector));
                Map<String, String> says = new TreeMap<>();
                put(says, "refused", vector.get("refused"));
                if (vector.get("read") instanceof Map<?, ?> values) {
                    values.forEach((name, value) -> put(says, name.toString(), value));
                }
                expected.put(stream + " " + id, says);
                // A few at a time, or the listener takes the database to be down.
                if (expected.size() % 5 == 0) {
                    awaitRead(() -> read.size() + odd.size() == expected.size());
                }
            }
            Object[] noText = {
                bytes("userId"), bytes("u"), bytes("voucherId"), bytes("v"), bytes("id"), NO_UTF_8
            };
            raw.sync().xadd(bytes("stream.orders"), noText);
            // The shop's own fields may be anything.
            noText[5] = bytes("last");
            raw.sync().xadd(
                    bytes("stream.orders.released"), Stream.concat(
                            Arrays.stream(noText),
                            Stream.of(NO_UTF_8, NO_UTF_8, bytes("reason"), bytes("expired")))
                            .toArray());
        }
        awaitRead(() -> read.size() + odd.size() == expected.size() + 2);
        odd.forEach((id, why) -> read.put(id, Map.of("refused", why)));
        assertThat(read).containsAllEntriesOf(expected);
        assertThat(odd).containsValue("id is not UTF-8");
    }

    /** The policy is only asked of what fails while others of its stream are handled. */
    private void awaitRead(Callable<Boolean> isRead) {
        Map<String, String> more = Map.of("userId", "u", "voucherId", "v", "id", MORE);
        Map<String, String> released = new HashMap<>(more);
        released.put("reason", "expired");
        await().until(() -> {
            shop.redis.opsForStream().add("stream.orders", more);
            shop.redis.opsForStream().add("stream.orders.confirmed", more);
            shop.redis.opsForStream().add("stream.orders.released", released);
            return isRead.call();
        });
    }

    private static String keyOf(String voucher, String orderId) {
        OrderRef order = OrderRef.of(voucher, "u", orderId);
        return new OrderPlaced(order, 1, null, null, ENTRY).idempotencyKey();
    }

    @Test
    void idsThatContainSeparatorsGiveDifferentKeys() {
        assertThat(keyOf("a:b", "c")).isEqualTo("placed::a%3Ab:c");
        assertThat(keyOf("a", "b:c")).isEqualTo("placed::a:b%3Ac");
        OrderRef order = OrderRef.of("v", "u", "1");
        for (PaymentToRefund.Reason reason : PaymentToRefund.Reason.values()) {
            // An unmatched payment may become late or a duplicate: that is another event.
            boolean unmatched = reason == PaymentToRefund.Reason.UNMATCHED;
            assertThat(new PaymentToRefund(order, 1, null, "p:1", reason, ENTRY).idempotencyKey())
                    .isEqualTo("refund::v:1:p%3A1" + (unmatched ? ":unmatched" : ""));
            // It is announced again if it is said to be for another number of units.
            assertThat(new PaymentToRefund(order, 1, 2L, "p:1", reason, ENTRY).idempotencyKey())
                    .isEqualTo("refund::v:1:p%3A1" + (unmatched ? ":unmatched:2" : ""));
        }
    }

    @Test
    void money_is_refunded_for_the_units_that_nobody_has_refunded() {
        OrderRef order = OrderRef.of("v", "u", "1");
        assertThat(new OrderConfirmed(order, 1, null, "p", ENTRY).unitsToRefund()).isZero();
        assertThat(new OrderConfirmed(order, 1, 3L, "p", ENTRY).unitsToRefund()).isEqualTo(2);
        assertThat(new OrderConfirmed(order, 3, 3L, "p", ENTRY).unitsToRefund()).isZero();
        PaymentToRefund.Reason late = PaymentToRefund.Reason.LATE;
        assertThat(new PaymentToRefund(order, 2, null, "p", late, ENTRY).unitsToRefund())
                .isEqualTo(2);
        assertThat(new PaymentToRefund(order, 2, 5L, "p", late, ENTRY).unitsToRefund())
                .isEqualTo(5);
        assertThat(released(order, null, false).unitsToRefund()).isZero();
        assertThat(released(order, "p", false).unitsToRefund()).isEqualTo(2);
        assertThat(released(order, "p", true).unitsToRefund()).isZero();
    }

    private static OrderReleased released(OrderRef order, @Nullable String ref, boolean refunded) {
        return new OrderReleased(
                order, 2, 0, Order.State.CANCELLED, Order.State.SOLD, ref, false, refunded, null,
                ENTRY);
    }
}
