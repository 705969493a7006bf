package io.github.seckill.spring.listener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.junit.jupiter.api.Test;

class EntryDecoderTest {
    private static final StreamEntry ENTRY = new StreamEntry("stream.orders", "rows", "1-1", 1);

    private final EntryDecoder decoder = new EntryDecoder("userId voucherId id");

    private static Map<byte[], byte[]> fields(String... namesAndValues) {
        Map<byte[], byte[]> fields = new LinkedHashMap<>();
        for (int i = 0; i < namesAndValues.length; i += 2) {
            fields.put(bytes(namesAndValues[i]), bytes(namesAndValues[i + 1]));
        }
        return fields;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private OrderEvent placed(String... namesAndValues) {
        return decoder.decode(OrderStreams.Kind.PLACED, ENTRY, fields(namesAndValues));
    }

    @Test
    void fieldsThatMayBeAbsentHaveTheirDefaults() {
        OrderPlaced sold = (OrderPlaced) placed("userId", "u", "voucherId", "v", "id", "1");
        assertThat(sold.units()).isEqualTo(1);
        assertThat(sold.isHeld()).isFalse();
        assertThat(sold.order().sale()).isNull();
        OrderPlaced held =
                (OrderPlaced)
                        placed(
                                "userId", "u", "voucherId", "v", "id", "1", "units", "3",
                                "deadline", "1795344856123", "sale", "1795344856123456",
                                "later", "field");
        assertThat(held.units()).isEqualTo(3);
        assertThat(held.deadline()).isEqualTo(Instant.ofEpochMilli(1795344856123L));
        assertThat(held.order().sale()).isEqualTo(1795344856123456L);
    }

    @Test
    void whatIsNoOrderIsRefused() {
        assertThatThrownBy(() -> placed("userId", "u", "voucherId", "v"))
                .isInstanceOf(MalformedEntryException.class)
                .hasMessage("no field id");
        assertThatThrownBy(
                        () -> placed("userId", "u", "voucherId", "v", "id", "1", "units", "0"))
                .hasMessageContaining("units");
        assertThatThrownBy(
                        () -> placed("userId", "u", "voucherId", "v", "id", "1", "sale", "x"))
                .hasMessageContaining("sale");
        Map<byte[], byte[]> noUtf8 = fields("userId", "u", "voucherId", "v");
        noUtf8.put(bytes("id"), new byte[] {(byte) 0xff});
        assertThatThrownBy(() -> decoder.decode(OrderStreams.Kind.PLACED, ENTRY, noUtf8))
                .hasMessageContaining("UTF-8");
    }

    @Test
    void idsThatContainSeparatorsGiveDifferentKeys() {
        OrderEvent one = placed("userId", "u", "voucherId", "a:b", "id", "c");
        OrderEvent other = placed("userId", "u", "voucherId", "a", "id", "b:c");
        assertThat(one.idempotencyKey()).isEqualTo("placed::a%3Ab:c");
        assertThat(other.idempotencyKey()).isEqualTo("placed::a:b%3Ac");
    }

    @Test
    void streamsAreNamedAsTheServerNamesThem() {
        OrderStreams tagged = OrderStreams.named("stream.orders", "shop3");
        assertThat(tagged.name(OrderStreams.Kind.RELEASED))
                .isEqualTo("stream.orders.released:{shop3}");
        assertThat(OrderStreams.named("o", "").name(OrderStreams.Kind.CONFIRMED))
                .isEqualTo("o.confirmed");
    }

    @Test
    void triesComeLaterAndLaterUpToABound() {
        ListenerSettings settings =
                new ListenerSettings(
                        1,
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(1),
                        Duration.ofSeconds(60));
        assertThat(settings.backoff(1)).isEqualTo(Duration.ofSeconds(1));
        assertThat(settings.backoff(2)).isEqualTo(Duration.ofSeconds(2));
        assertThat(settings.backoff(6)).isEqualTo(Duration.ofSeconds(32));
        assertThat(settings.backoff(7)).isEqualTo(Duration.ofSeconds(60));
        assertThat(settings.backoff(1_000_000)).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void theNextIdIsTheSmallestThatIsGreater() {
        assertThat(EntryIds.next("5-1")).isEqualTo("5-2");
        assertThat(EntryIds.next("5-18446744073709551615")).isEqualTo("6-0");
    }
}
