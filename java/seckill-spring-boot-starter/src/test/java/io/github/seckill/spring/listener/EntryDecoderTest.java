package io.github.seckill.spring.listener;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.OrderRef;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Locale;
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

    /** Of the order 1 of u on v, with these fields too. */
    private OrderEvent decode(Kind kind, String... more) {
        Map<byte[], byte[]> fields = fields("userId", "u", "voucherId", "v", "id", "1");
        fields.putAll(fields(more));
        return decoder.decode(kind, ENTRY, fields);
    }

    private String keyOf(String voucher, String orderId) {
        Map<byte[], byte[]> fields = fields("userId", "u", "voucherId", voucher, "id", orderId);
        return decoder.decode(Kind.PLACED, ENTRY, fields).idempotencyKey();
    }

    @Test
    void fieldsThatMayBeAbsentHaveTheirDefaults() {
        assertThat(decode(Kind.PLACED))
                .isEqualTo(new OrderPlaced(OrderRef.of("v", "u", "1"), 1, null, null, ENTRY));
        OrderPlaced held = (OrderPlaced) decode(
                Kind.PLACED, "units", "3", "deadline", "1795344856123",
                "sale", "1795344856123456", "later", "field", "waited", "250");
        assertThat(held).isEqualTo(new OrderPlaced(
                OrderRef.of("v", "u", "1").inSale(1795344856123456L), 3,
                Instant.ofEpochMilli(1795344856123L), Duration.ofMillis(250), ENTRY));
        assertThat(held.isHeld()).isTrue();
    }

    @Test
    void whatIsNoOrderIsRefused() {
        Map<byte[], byte[]> noId = fields("userId", "u", "voucherId", "v");
        assertThatThrownBy(() -> decoder.decode(Kind.PLACED, ENTRY, noId))
                .isInstanceOf(MalformedEntryException.class).hasMessage("no field id");
        assertThatThrownBy(() -> decode(Kind.PLACED, "units", "0")).hasMessageContaining("units");
        assertThatThrownBy(() -> decode(Kind.PLACED, "sale", "x")).hasMessageContaining("sale");
        noId.put(bytes("id"), new byte[] {(byte) 0xff});
        assertThatThrownBy(() -> decoder.decode(Kind.PLACED, ENTRY, noId))
                .hasMessageContaining("UTF-8");
    }

    private OrderEvent paid(String... payment) {
        return decode(Kind.CONFIRMED, payment);
    }

    @Test
    void onlyAFirstPaymentOrOneWithoutAReferenceConfirms() {
        assertThat(paid()).isInstanceOf(OrderConfirmed.class);
        OrderConfirmed first = (OrderConfirmed) paid("ref", "p:1", "payment", "first");
        assertThat(first.paymentRef()).isEqualTo("p:1");
        for (PaymentToRefund.Reason reason : PaymentToRefund.Reason.values()) {
            String word = reason.name().toLowerCase(Locale.ROOT);
            PaymentToRefund payment = (PaymentToRefund) paid("ref", "p:1", "payment", word);
            assertThat(payment.reason()).isEqualTo(reason);
            // What is unknown may become late or second: that is another event.
            assertThat(payment.idempotencyKey()).isEqualTo(
                    reason == PaymentToRefund.Reason.UNKNOWN
                            ? "refund::v:1:p%3A1:unknown" : "refund::v:1:p%3A1");
        }
        assertThatThrownBy(() -> paid("payment", "late")).hasMessage("no field ref");
        assertThatThrownBy(() -> paid("ref", "p:1", "payment", "else"))
                .isInstanceOf(MalformedEntryException.class).hasMessage("no Reason: else");
    }

    @Test
    void idsThatContainSeparatorsGiveDifferentKeys() {
        assertThat(keyOf("a:b", "c")).isEqualTo("placed::a%3Ab:c");
        assertThat(keyOf("a", "b:c")).isEqualTo("placed::a:b%3Ac");
    }

    @Test
    void streamsAreNamedAsTheServerNamesThem() {
        assertThat(Kind.RELEASED.stream("stream.orders", "shop3"))
                .isEqualTo("stream.orders.released:{shop3}");
        assertThat(Kind.CONFIRMED.stream("o", "")).isEqualTo("o.confirmed");
    }

    @Test
    void triesComeLaterAndLaterUpToABound() {
        OrderListenerOptions settings = ListenerShop.options(
                Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ofSeconds(60));
        assertThat(settings.backoff(1)).isEqualTo(Duration.ofSeconds(1));
        assertThat(settings.backoff(2)).isEqualTo(Duration.ofSeconds(2));
        assertThat(settings.backoff(6)).isEqualTo(Duration.ofSeconds(32));
        assertThat(settings.backoff(7)).isEqualTo(Duration.ofSeconds(60));
        assertThat(settings.backoff(1_000_000)).isEqualTo(Duration.ofSeconds(60));
    }

    @Test
    void aReplyIsKnownByItsFirstWord() {
        Exception busy = new Exception("wrapped", new Exception("BUSYGROUP the group exists"));
        assertThat(GroupConsumer.hasCode(busy, "BUSYGROUP")).isTrue();
        Exception other = new Exception("NOPERM no right to the key BUSYGROUP ");
        assertThat(GroupConsumer.hasCode(other, "BUSYGROUP")).isFalse();
    }
}
