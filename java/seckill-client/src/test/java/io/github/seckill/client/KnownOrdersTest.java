package io.github.seckill.client;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class KnownOrdersTest {
    private static final int MILLION = 1_000_000;

    private final KnownOrders known = new KnownOrders();

    private void add(int first, int count) {
        IntStream.range(first, first + count).forEach(i -> known.add("phone", "order-" + i));
    }

    private long found(String voucher, int first) {
        return IntStream.range(first, first + 10_000)
                .filter(i -> known.has(voucher, "order-" + i)).count();
    }

    @Test
    void whatWasAddedIsFoundAndHardlyAnythingElse() {
        add(0, MILLION - 10_000);
        assertThat(found("phone", 0)).isEqualTo(10_000);
        assertThat(found("phone", 5 * MILLION)).isLessThan(100);
        assertThat(found("tablet", 0)).isLessThan(100);
        // The next million does not make the last one forgotten, the one after it does.
        add(MILLION, 500_000);
        assertThat(found("phone", 0)).isEqualTo(10_000);
        add(2 * MILLION, MILLION);
        assertThat(found("phone", 0)).isLessThan(200);
        assertThat(found("phone", 2 * MILLION)).isEqualTo(10_000);
    }
}
