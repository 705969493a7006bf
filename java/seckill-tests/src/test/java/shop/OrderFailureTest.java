package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.ListenerShop.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.Order;
import io.github.seckill.spring.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.OrderFailurePolicy.Decision;
import io.github.seckill.spring.OrderFailurePolicy.OrderFailure;
import java.time.*;
import java.util.*;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.*;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Entries that a listener can't handle, and what a policy makes of them. */
class OrderFailureTest {
    @AutoClose private final ListenerShop shop = new ListenerShop();
    private final Recorder recorder = new Recorder();

    @Test
    void anEntryThatFailsIsRetriedUnderTheSameKeyAndHoldsNoOtherUp() {
        recorder.refuses = event -> event.order().orderId().equals("a1");
        shop.start(RETRY, recorder);
        shop.client.create("7", 5, SaleRules.none());
        shop.buy("7", "alice", "a1");
        shop.buy("7", "bob", "b1");

        await().until(() -> recorder.refusals("a1") >= 3);
        assertThat(recorder.handledIds()).containsExactly("placed b1");
        assertThat(shop.pending(ORDERS)).hasSize(1);
        assertThat(recorder.refused.get(2).entry().deliveries()).isGreaterThanOrEqualTo(3);

        recorder.refuses = event -> false;
        await().until(() -> recorder.handledIds().contains("placed a1"));
        await().until(() -> shop.pending(ORDERS).isEmpty());
        assertThat(new TreeSet<>(recorder.keys)).hasSize(2);
    }

    /** Twice as long each time, up to the longest: doubled 12 times it would be minutes. */
    @Test
    void anEntryThatFailsComesAgainAfterTwiceAsLongUpToTheLongest() {
        List<Duration> calls = new CopyOnWriteArrayList<>();
        shop.client.create("7", 1, SaleRules.none());
        long began = System.nanoTime();
        recorder.refuses = event -> calls.add(Duration.ofNanos(System.nanoTime() - began));
        shop.start(RETRY, recorder);
        shop.buy("7", "alice", "a1");
        await().until(() -> calls.size() > 13);
        Duration due = Duration.ZERO;
        for (int call = 1; call <= 13; call++) {
            Duration delay = RETRY_FIRST.multipliedBy(1L << call - 1);
            // The server counts whole milliseconds.
            due = due.plus(delay.compareTo(RETRY_MOST) < 0 ? delay : RETRY_MOST).minusMillis(1);
            assertThat(calls.get(call)).isGreaterThanOrEqualTo(due);
        }
    }

    @Test
    void aDeadLetterByPolicyReleasesNothing() {
        recorder.refuses = event -> event.order().orderId().equals("a1");
        shop.start(failure -> Decision.DEAD_LETTER, recorder);
        shop.client.create("7", 5, SaleRules.none());
        shop.buy("7", "alice", "a1");
        // Nothing is given up before another entry was handled, however long it has failed.
        await().until(() -> recorder.refusals("a1") >= 4);
        assertThat(shop.entries("stream.orders.dlq")).isEmpty();
        shop.buy("7", "bob", "b1");

        await().until(() -> shop.entries("stream.orders.dlq").size() == 1);
        assertThat(shop.entries("stream.orders.dlq").get(0))
                .containsEntry("userId", "alice").containsEntry("id", "a1")
                .containsEntry("dlqStream", "stream.orders")
                .containsEntry("dlqGroup", GROUP).containsEntry("dlqOrder", "unknown")
                .containsKeys("dlqId", "dlqDeliveries", "dlqReason");
        await("acknowledged").until(() -> shop.pending(ORDERS).isEmpty());
        assertThat(shop.state("a1")).isEqualTo(Order.State.SOLD);
        assertThat(shop.client.info("7").left()).isEqualTo(3);
        assertThat(shop.entries("stream.orders.released")).isEmpty();
    }

    @Test
    void onlyAnOrderThatIsNotSoldIsRejectedByPolicy() {
        recorder.refuses = event -> event instanceof OrderPlaced
                && Set.of("a1", "b1", "u1").contains(event.order().orderId());
        shop.client.create("7", 5, HELD);
        shop.redis.opsForValue().set("seckill:stock:8", "1");
        shop.buy("7", "alice", "a1");
        shop.buy("7", "bob", "b1");
        shop.buy("8", "ute", "u1");
        shop.client.confirm(OrderRef.of("7", "bob", "b1"));
        shop.start(failure -> Decision.REJECT_IF_UNSOLD, recorder);
        shop.redis.opsForValue().set("seckill:stock:9", "1000");

        AtomicInteger others = new AtomicInteger();
        await().until(() -> {
            String other = "c" + others.incrementAndGet();
            shop.buy("9", other, other);
            return shop.entries("stream.orders.dlq").size() == 1;
        });
        assertThat(shop.state("a1")).isEqualTo(Order.State.REJECTED);
        await().until(() -> recorder.handledIds().contains("released a1"));
        refusedAgain("b1", 2);
        refusedAgain("u1", 2);
        assertThat(shop.state("b1")).isEqualTo(Order.State.SOLD);
        assertThat(shop.redis.opsForValue().get("seckill:stock:8")).isEqualTo("0");
        assertThat(shop.entries("stream.orders.dlq")).hasSize(1);
        assertThat(shop.pending(ORDERS)).hasSize(2);
        assertThat(shop.client.info("7").left()).isEqualTo(4);
    }

    @Test
    void whatWasHandledBeforeAnOutageGivesNothingUpDuringIt() {
        AtomicBoolean isLate = new AtomicBoolean();
        recorder.refuses = event -> event.order().orderId().equals("a1");
        shop.start(failure -> isLate.get() ? Decision.REJECT_IF_UNSOLD : Decision.RETRY, recorder);
        shop.client.create("7", 5, HELD);
        shop.buy("7", "alice", "a1");
        await().until(() -> recorder.refusals("a1") >= 1);
        shop.buy("7", "bob", "b1");
        await().until(() -> recorder.handledIds().contains("placed b1"));
        recorder.refuses = event -> true;
        refusedAgain("a1", 2);
        isLate.set(true);
        refusedAgain("a1", 3);
        assertThat(shop.entries("stream.orders.dlq")).isEmpty();
        assertThat(shop.state("a1")).isEqualTo(Order.State.HELD);
        recorder.refuses = event -> event.order().orderId().equals("a1");
        shop.buy("7", "carol", "c1");
        await().until(() -> shop.state("a1") == Order.State.REJECTED);
    }

    private void refusedAgain(String order, int times) {
        long before = recorder.refusals(order);
        await().until(() -> recorder.refusals(order) >= before + times);
    }

    @Test
    void whileEverythingFailsNothingIsGivenUpAndReadingStops() {
        recorder.refuses = event -> true;
        OrderListenerContainer container =
                shop.start(failure -> Decision.REJECT_IF_UNSOLD, recorder);
        shop.client.create("7", 100, HELD);
        shop.buyAll(1, 20);
        await().until(() -> container.intakeStopped(GROUP) == 1);
        shop.buyAll(21, 40);
        await().until(() -> recorder.refused.size() > 100);
        assertThat(recorder.refused).noneMatch(event -> event.order().orderId().equals("o40"));
        long before = recorder.refusedOrders();
        await("one is read now and then").until(() -> recorder.refusedOrders() > before);
        assertThat(shop.entries("stream.orders.dlq")).isEmpty();
        assertThat(shop.client.info("7").held()).isEqualTo(40);

        recorder.refuses = event -> false;
        await().until(() -> recorder.handled.size() == 40);
        await().until(() -> container.intakeStopped(GROUP) == 0);
        assertThat(shop.client.info("7").held()).isEqualTo(40);
    }

    @Test
    void aMalformedEntryStaysPendingAndIsNoOrder() {
        shop.client.create("7", 5, SaleRules.none());
        for (int i = 0; i < 9; i++) {
            shop.redis.opsForStream().add(ORDERS, Map.of("userId", "alice"));
        }
        OrderListenerContainer container = shop.start(RETRY, recorder);
        await().until(() -> container.reading(GROUP) == 1);
        await("all are looked at again").until(() -> shop.pending(ORDERS).stream()
                .filter(entry -> entry.getTotalDeliveryCount() > 2).count() == 9);
        // However many there are, they say nothing of the database.
        assertThat(container.intakeStopped(GROUP)).isZero();
        shop.buy("7", "bob", "b1");
        await().until(() -> recorder.handledIds().equals(List.of("placed b1")));
        await().until(() -> shop.pending(ORDERS).size() == 9);
    }

    @ParameterizedTest
    @CsvSource({"true, 30, REJECT_IF_UNSOLD", "true, 29, RETRY", "false, 99, RETRY"})
    void onlyHeldOrdersAreRejectedAfterATime(boolean held, long minutes, Decision decision) {
        StreamEntry entry = new StreamEntry(ORDERS, GROUP, "1-1", 1);
        Instant deadline = held ? Instant.EPOCH : null;
        OrderPlaced placed =
                new OrderPlaced(OrderRef.of("7", "alice", "a1"), 1, deadline, null, entry);
        OrderFailure failure = new OrderFailure(
                placed, entry, Map.of(), new Exception(), 1, Duration.ofMinutes(minutes));
        assertThat(OrderFailurePolicy.rejectHeldAfter(Duration.ofMinutes(30)).decide(failure))
                .isEqualTo(decision);
    }
}
