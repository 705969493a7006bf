package shop;

import static org.assertj.core.api.Assertions.*;
import static shop.ListenerShop.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.Order;
import io.github.seckill.spring.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.OrderEvent.PaymentToRefund.Reason;
import io.lettuce.core.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;
import org.springframework.beans.factory.support.*;
import org.springframework.data.redis.connection.stream.*;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.core.RedisCallback;

class OrderListenerTest {
    @AutoClose private final ListenerShop shop = new ListenerShop();
    private final Recorder recorder = new Recorder();

    private OrderListenerContainer startAndSell() {
        shop.client.create("7", 5, SaleRules.none());
        OrderListenerContainer container = shop.start(RETRY, recorder);
        shop.buy("7", "alice", "a1");
        await().until(() -> recorder.handledIds().contains("placed a1"));
        return container;
    }

    /** Behind few entries the next read waits 5 ms for others, here those that each has sold. */
    @Test
    void whatComesSoonAfterAnEntryIsReadTogether() {
        List<Long> nanos = new CopyOnWriteArrayList<>();
        recorder.refuses = event -> {
            nanos.add(System.nanoTime());
            shop.buyAll(nanos.size(), nanos.size());
            return false;
        };
        shop.client.create("7", 40, SaleRules.none());
        shop.start(RETRY, recorder);
        shop.buy("7", "alice", "a1");
        await().until(() -> nanos.size() >= 39);
        for (int i = 1; i < 39; i++) {
            assertThat(nanos.get(i) - nanos.get(i - 1)).isGreaterThanOrEqualTo(5_000_000);
        }
    }

    @Test
    void everyChangeOfAnOrderIsHandedOverAndAcknowledged() {
        shop.client.create("7", 5, HELD);
        shop.buy("7", "alice", "a1");
        shop.start(RETRY, recorder);
        shop.buy("7", "bob", "b1");
        shop.client.confirm(OrderRef.of("7", "alice", "a1"), "payment-1");
        shop.client.cancel(OrderRef.of("7", "bob", "b1"));

        await().untilAsserted(() -> assertThat(recorder.handledIds()).containsExactlyInAnyOrder(
                "placed a1", "placed b1", "confirmed a1", "released b1"));
        Long sale = shop.client.info("7").sale();
        assertThat(recorder.handled)
                .allMatch(event -> event.units() == 1 && sale.equals(event.order().sale()))
                .anyMatch(event -> event instanceof OrderPlaced placed && placed.isHeld())
                .anyMatch(event -> event instanceof OrderConfirmed paid
                        && "payment-1".equals(paid.paymentRef()))
                .anyMatch(event -> event instanceof OrderReleased released
                        && released.reason() == Order.State.CANCELLED
                        && released.was() == Order.State.HELD);
        assertThat(new TreeSet<>(recorder.keys)).hasSize(4);
        for (String stream : List.of("", ".confirmed", ".released")) {
            await().until(() -> shop.pending(ORDERS + stream).isEmpty());
        }
    }

    @Test
    void aPaymentThatBuysNothingIsNeverAConfirmation() {
        shop.client.create("7", 5, HELD.limit(3));
        OrderRef order = OrderRef.of("7", "alice", "a1");
        shop.client.tryBuy("7", "alice", "a1", 3);
        shop.client.confirm(order, "p1");
        shop.client.confirm(order, "p2");
        OrderRef none = OrderRef.of("7", "bob", "none");
        shop.client.confirm(none, "p3");
        shop.client.recordRefund(none, "p3");
        shop.client.cancelAllBut(order, 2);
        shop.client.cancelAllBut(order, 1);
        shop.client.cancel(order);
        shop.client.confirm(order, "p4");
        ConfirmedOnly confirmedOnly = new ConfirmedOnly();
        shop.start(RETRY, recorder, confirmedOnly);

        await().untilAsserted(() -> assertThat(recorder.handledIds()).containsExactlyInAnyOrder(
                "placed a1", "confirmed a1", "refund a1", "refund none", "refund none", "refund a1",
                "released a1", "released a1", "released a1"));
        assertThat(recorder.handled(PaymentToRefund.class))
                .extracting(PaymentToRefund::paymentRef, PaymentToRefund::reason,
                        PaymentToRefund::units)
                .containsExactly(
                        tuple("p2", Reason.DUPLICATE, 3L), tuple("p3", Reason.UNMATCHED, 1L),
                        tuple("p3", Reason.LATE, 1L),
                        tuple("p4", Reason.LATE, 1L));
        assertThat(recorder.handled(OrderReleased.class))
                .extracting(OrderReleased::units, OrderReleased::kept, OrderReleased::paymentRef)
                .containsExactly(tuple(1L, 2L, "p1"), tuple(1L, 1L, "p1"), tuple(1L, 0L, "p1"));
        assertThat(new TreeSet<>(recorder.keys)).hasSize(9);
        await().until(() -> shop.redis.opsForStream()
                .pending("stream.orders.confirmed", "paid").getTotalPendingMessages() == 0);
        assertThat(confirmedOnly.handled)
                .singleElement().extracting(OrderConfirmed::paymentRef).isEqualTo("p1");
    }

    static class ConfirmedOnly {
        final List<OrderConfirmed> handled = new CopyOnWriteArrayList<>();

        @SeckillOrderListener(group = "paid")
        void on(OrderConfirmed paid) {
            handled.add(paid);
        }
    }

    /** While it does, the container answers others, and waits only for them. */
    @Test
    void aMethodStopsItsOwnGroup() {
        shop.shutdownWithin = Duration.ofHours(1);
        shop.client.create("7", 5, SaleRules.none());
        OrderListenerContainer container = shop.start(RETRY, recorder);
        recorder.refuses = event -> {
            container.stop(GROUP);
            return !CompletableFuture.supplyAsync(container::groups).join().contains(GROUP);
        };
        shop.buyAll(1, 1);
        await().until(() -> recorder.handledIds().equals(List.of("placed o1")));
        await().until(() -> shop.redis.opsForStream().consumers(ORDERS, GROUP).isEmpty());
        assertThat(container.reading(GROUP)).isZero();
        recorder.refuses = event -> false;
        container.start(GROUP);
        shop.buyAll(2, 2);
        await().until(() -> recorder.handled.size() == 2);
    }

    @Test
    @SuppressWarnings("unchecked") // of read
    void whatADeadConsumerHasLeftIsTakenOver() {
        shop.client.create("7", 5, SaleRules.none());
        shop.buy("7", "alice", "a1");
        var streams = shop.redis.opsForStream();
        streams.createGroup(ORDERS, ReadOffset.from("0"), GROUP);
        var left = streams.read(
                Consumer.from(GROUP, "dead"),
                StreamOffset.create(ORDERS, ReadOffset.lastConsumed()));
        assertThat(left).hasSize(1);

        shop.start(RETRY, recorder);
        await().until(() -> recorder.handledIds().equals(List.of("placed a1")));
        assertThat(recorder.handled.get(0).entry().deliveries()).isEqualTo(2);
        await().until(() -> shop.pending(ORDERS).isEmpty());
    }

    /** By XNACK where the server has it: pending for a consumer without a name, idle for -1 ms. */
    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void whatAnotherProgramGivesBackIsTakenAtOnce(String program) {
        try (ListenerShop other = new ListenerShop(program)) {
            other.claimAfter = Duration.ofHours(1);
            other.client.create("7", 5, SaleRules.none());
            other.buy("7", "alice", "a1");
            String back = program.contains("redis-8")
                    ? "return redis.call('XNACK', KEYS[1], ARGV[1], 'FATAL', 'IDS', 1, id)"
                    : "return #redis.call('XCLAIM', KEYS[1], ARGV[1], '', 0, id)";
            long given = other.plain.eval(
                    """
                    redis.call('XGROUP', 'CREATE', KEYS[1], ARGV[1], 0)
                    local read = redis.call(
                        'XREADGROUP', 'GROUP', ARGV[1], 'program', 'STREAMS', KEYS[1], '>')
                    local id = read[1][2][1][1]
                    """ + back, ScriptOutputType.INTEGER, new String[] {ORDERS}, GROUP);
            assertThat(given).isEqualTo(1);
            recorder.refuses = event -> recorder.refused.isEmpty();
            other.start(RETRY, recorder);
            await().until(() -> recorder.handledIds().contains("placed a1"));
            assertThat(recorder.handled.get(0).entry().deliveries()).isGreaterThan(2);
            await().until(() -> other.pending(ORDERS).isEmpty());
        }
    }

    @Test
    void whatASlowConsumerHasReadAndOthersHaveTakenOverIsNotHandledTwice() {
        CompletableFuture<Void> slow = new CompletableFuture<>();
        AtomicBoolean first = new AtomicBoolean(true);
        recorder.refuses = event -> {
            if (first.compareAndSet(true, false)) {
                slow.join();
            }
            return false;
        };
        shop.client.create("7", 5, SaleRules.none());
        shop.buyAll(1, 5);
        shop.start(RETRY, recorder);
        await().until(() -> !first.get());
        shop.start(RETRY, recorder);
        await().until(() -> recorder.handled.size() == 5 && shop.pending(ORDERS).isEmpty());
        slow.complete(null);
        await().until(() -> recorder.handled.size() >= 6);
        shop.client.create("8", 1, SaleRules.none());
        shop.buy("8", "user", "last");
        await().until(() -> recorder.handledIds().contains("placed last"));
        assertThat(recorder.handledIds())
                .containsOnlyOnce("placed o2", "placed o3", "placed o4", "placed o5");
    }

    @Test
    void aListenerWhoseGroupOrWhoseConnectionsAreLostGoesOn() {
        startAndSell();
        shop.redis.delete(ORDERS);
        shop.buy("7", "bob", "b1");
        await().until(() -> recorder.handledIds().contains("placed b1"));
        RedisClient client = (RedisClient) shop.factory.getRequiredNativeClient();
        try (var connection = client.connect()) {
            long killed = connection.sync().clientKill(KillArgs.Builder.typeNormal().skipme());
            assertThat(killed).isGreaterThanOrEqualTo(2);
        }
        shop.buy("7", "carol", "c1");
        await().until(() -> recorder.handledIds().contains("placed c1"));
        await().until(() -> shop.pending(ORDERS).isEmpty());
        assertThat(recorder.handledIds()).containsExactly("placed a1", "placed b1", "placed c1");
    }

    @Test
    void aStopWaitsForTheEntryInFlightAndLeavesTheGroup() {
        OrderListenerContainer container = startAndSell();
        container.stop();
        assertThat(container.isRunning()).isFalse();
        assertThat(shop.redis.opsForStream().consumers(ORDERS, GROUP)).isEmpty();
        shop.buy("7", "bob", "b1");
        container.start();
        await().until(() -> recorder.handled.size() == 2);
    }

    @Test
    void whatAStoppedConsumerHasReadIsHandedOverByTheNextOneAtOnce() throws Exception {
        shop.claimAfter = Duration.ofHours(1);
        CompletableFuture<Void> slow = new CompletableFuture<>();
        AtomicBoolean inFlight = new AtomicBoolean();
        recorder.refuses = event -> {
            inFlight.set(true);
            slow.join();
            return event.order().orderId().equals("o1");
        };
        shop.client.create("7", 5, SaleRules.none());
        shop.buyAll(1, 5);
        OrderListenerContainer container = shop.start(RETRY, recorder);
        await().until(inFlight::get);
        Thread stopper = new Thread(container::stop);
        stopper.start();
        await().until(() -> stopper.getState() == Thread.State.TIMED_WAITING);
        slow.complete(null);
        stopper.join();
        assertThat(recorder.handled).isEmpty();
        assertThat(recorder.refused).hasSize(1);

        shop.claimAfter = Duration.ofHours(2);
        Recorder next = new Recorder();
        shop.start(RETRY, next);
        await().until(() -> next.handled.size() == 5);
        await().until(() -> shop.pending(ORDERS).isEmpty());
        assertThat(shop.redis.opsForStream().consumers(ORDERS, GROUP))
                .hasSize(2); // The new one, and the one that was returned to.
    }

    /** As in a failover: it is acknowledged later, and what was read with it is not handled twice. */
    @Test
    void whatIsHandledWhileTheServerTakesNoAcknowledgementComesOnce() {
        shop.claimAfter = Duration.ofHours(1);
        AtomicBoolean over = new AtomicBoolean();
        recorder.refuses = event -> {
            if (event.order().orderId().equals("o3") && !over.getAndSet(true)) {
                shop.readOnly(true);
                long since = System.nanoTime();
                await("an acknowledgement is due").until(() ->
                        System.nanoTime() - since > Duration.ofMillis(100).toNanos());
            }
            return false;
        };
        shop.client.create("7", 10, SaleRules.none());
        shop.buyAll(1, 10);
        OrderListenerContainer container = shop.start(RETRY, recorder);
        await("refused").until(() -> !container.failures().isEmpty());
        shop.readOnly(false);
        await().until(() -> recorder.handled.size() >= 10 && shop.pending(ORDERS).isEmpty());
        assertThat(recorder.keys).hasSize(10).doesNotHaveDuplicates();
    }

    /** One method that does not return keeps nothing else of its read from an idle instance. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whatAStuckConsumerHasNotBegunIsHandledByOthers(boolean shutDown) throws Exception {
        shop.claimAfter = Duration.ofHours(1);
        shop.shutdownWithin = Duration.ofMinutes(2);
        CompletableFuture<Void> stuck = new CompletableFuture<>();
        recorder.refuses = event -> {
            if (event.order().orderId().equals("o5")) {
                stuck.join();
            }
            return false;
        };
        shop.client.create("7", 100, SaleRules.none());
        shop.buyAll(1, 100);
        OrderListenerContainer container = shop.start(RETRY, recorder);
        await().until(() -> recorder.keys.size() == 5);
        Thread stopper = new Thread(shutDown ? container::stop : () -> {});
        stopper.start();
        Recorder idle = new Recorder();
        shop.claimAfter = Duration.ofHours(2);
        shop.start(RETRY, idle);
        await().until(() -> idle.handled.size() == 95);
        // What was handled before is acknowledged, so that only the stuck one would come again.
        await().until(() -> shop.pending(ORDERS).size() == 1);
        stuck.complete(null);
        stopper.join();
        await().until(() -> shop.pending(ORDERS).isEmpty());
        assertThat(recorder.handled).hasSize(5);
        assertThat(new TreeSet<>(idle.keys)).hasSize(95).doesNotContainAnyElementsOf(recorder.keys);
    }

    @Test
    @SuppressWarnings("unchecked") // of read
    void consumersOfInstancesThatWereKilledAreDeletedOnceNothingIsPendingForThem() {
        shop.claimAfter = Duration.ofMillis(100);
        shop.client.create("7", 5, SaleRules.none());
        shop.buy("7", "alice", "a1");
        var streams = shop.redis.opsForStream();
        streams.createGroup(ORDERS, ReadOffset.from("0"), GROUP);
        for (String name : List.of("dead", "dead too")) {
            streams.read(
                    Consumer.from(GROUP, name),
                    StreamOffset.create(ORDERS, ReadOffset.lastConsumed()));
        }
        assertThat(streams.consumers(ORDERS, GROUP)).isNotEmpty();
        shop.start(RETRY, recorder);
        await().until(() -> recorder.handledIds().contains("placed a1"));
        await().until(() -> streams.consumers(ORDERS, GROUP).stream()
                .noneMatch(consumer -> consumer.consumerName().startsWith("dead")));
        shop.buy("7", "bob", "b1");
        await().until(() -> recorder.handledIds().contains("placed b1"));
    }

    @Test
    void entriesOfABatchAreAcknowledgedTogether() {
        shop.client.create("7", 100, SaleRules.none());
        shop.buyAll(1, 100);
        shop.start(RETRY, recorder);
        await().until(() -> recorder.handled.size() == 100);
        await().until(() -> shop.pending(ORDERS).isEmpty());
        var stats = shop.redis.execute((RedisCallback<Properties>) redis ->
                redis.serverCommands().info("commandstats"));
        String calls = stats.getProperty("cmdstat_xack").replaceAll("calls=(\\d+),.*", "$1");
        assertThat(Integer.parseInt(calls)).isLessThan(50);
    }

    @ParameterizedTest
    @ValueSource(strings = {"prototype", "lazy"})
    void aBeanThatIsNotMadeAtTheStartListens(String how) {
        List<Recorder> made = new CopyOnWriteArrayList<>();
        RootBeanDefinition definition = new RootBeanDefinition(Recorder.class, () -> {
            made.add(new Recorder());
            return made.get(made.size() - 1);
        });
        definition.setScope(how.equals("lazy") ? "singleton" : how);
        definition.setLazyInit(how.equals("lazy"));
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerBeanDefinition("recorder", definition);
        beans.preInstantiateSingletons();
        if (how.equals("prototype")) {
            beans.getBean("recorder");
            beans.getBean("recorder");
        }
        shop.client.create("7", 5, SaleRules.none());
        shop.start(RETRY, beans);
        shop.buy("7", "alice", "a1");
        await().until(() ->
                made.stream().anyMatch(bean -> bean.handledIds().contains("placed a1")));
    }

    /** As Spring Kafka has it: each listener has options of its own, and a name to start it by. */
    static class OwnOptions {
        final List<String> handled = new CopyOnWriteArrayList<>();

        @SeckillOrderListener(
                group = "own", concurrency = "3", batch = "1", policy = "buries",
                autoStartup = "OFF")
        void on(OrderPlaced placed) {
            if (placed.order().orderId().equals("o1")) {
                throw new IllegalStateException("row refused");
            }
            handled.add(placed.order().orderId());
        }
    }

    @Test
    void aListenerHasOptionsOfItsOwnAndIsStartedByName() {
        OwnOptions own = new OwnOptions();
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerSingleton("own", own);
        beans.registerSingleton("recorder", recorder);
        OrderFailurePolicy buries = failure -> OrderFailurePolicy.Decision.DEAD_LETTER;
        beans.registerSingleton("buries", buries);
        shop.client.create("7", 20, SaleRules.none());
        shop.buyAll(1, 10);
        OrderListenerContainer container = shop.start(RETRY, beans);
        await().until(() -> recorder.handled.size() == 10);
        assertThat(own.handled).isEmpty();
        assertThat(container.reading("own")).isZero();

        container.start("own");
        await().until(() -> container.reading("own") == 3);
        await().until(() -> own.handled.size() == 9);
        // The policy is asked once others were handled.
        shop.buyAll(11, 20);
        await().until(() -> !shop.entries("stream.orders.dlq").isEmpty());
        container.stop("own");
        assertThat(container.reading("own")).isZero();
        assertThat(container.reading(GROUP)).isEqualTo(1);
        assertThatThrownBy(() -> container.start("none")).hasMessageContaining("none");
    }

    static class PlacedOnly {
        @SeckillOrderListener(group = GROUP)
        void on(OrderPlaced placed) {}
    }

    static class WrongParameter {
        @SeckillOrderListener(group = GROUP)
        void on(String text) {}
    }

    static class WrongOption {
        @SeckillOrderListener(group = "wrong", autoStartup = "perhaps")
        void on(OrderPlaced placed) {}
    }

    static class WrongNumber {
        @SeckillOrderListener(group = "wrong", autoStartup = "off", concurrency = "two")
        void on(OrderPlaced placed) {}
    }

    static class WrongPolicy {
        @SeckillOrderListener(group = "wrong", autoStartup = "off", policy = "nobody")
        void on(OrderPlaced placed) {}
    }

    @Test
    void listenersThatCanNotWorkAreRefusedAtTheStart() {
        assertThatThrownBy(() -> shop.start(RETRY, recorder, new PlacedOnly()))
                .hasMessageContaining("would take each other's orders");
        assertThatThrownBy(() -> shop.start(RETRY, new WrongParameter()))
                .hasMessageContaining("takes an OrderEvent");
        assertThatThrownBy(() -> shop.start(RETRY, recorder, new WrongOption()))
                .hasMessageContaining("autoStartup of a listener can't be perhaps");
        assertThatThrownBy(() -> shop.start(RETRY, recorder, new WrongNumber()))
                .hasMessageContaining("concurrency of a listener can't be two");
        assertThatThrownBy(() -> shop.start(RETRY, recorder, new WrongPolicy()))
                .hasMessageContaining("No bean named 'nobody'");
        // None of the others has begun.
        assertThat(shop.redis.hasKey(ORDERS)).isFalse();
    }
}
