package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.*;

import io.github.seckill.client.*;
import io.github.seckill.client.Cancellation.Release;
import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.*;
import java.util.*;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;

/** Every command, in both protocols, on each server. */
class CommandsTest {
    static Stream<Arguments> everywhere() {
        return Shop.servers().flatMap(server ->
                Stream.of(ProtocolVersion.values()).map(version -> Arguments.of(server, version)));
    }

    @AutoClose private Shop shop;
    private SeckillClient client;
    private RedisCommands<String, String> plain;

    private void open(String program, ProtocolVersion version) {
        shop = new Shop(program, version);
        client = shop.client(Shop.PATIENT);
        plain = shop.plain;
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_managed_sale_from_its_creation_to_its_end(String program, ProtocolVersion version) {
        open(program, version);
        SaleRules rules = SaleRules.none()
                .begin(Instant.ofEpochMilli(1)).end(Instant.ofEpochMilli(4_102_444_800_000L))
                .limit(3).hold(Duration.ofMinutes(5));
        client.create("7", 5, rules);
        assertThatThrownBy(() -> client.create("7", 5, rules))
                .hasFieldOrPropertyWithValue("code", Code.BUSYKEY)
                .hasMessageStartingWith("BUSYKEY ");

        Purchase held = client.reserve(tryBuy("7", "alice", "9007199254740993", 2));
        assertThat(held.isAccepted()).isTrue();
        assertThat(held.deadline()).isNotNull();
        assertThat(held.order().units()).isEqualTo(2);
        assertThat(client.tryBuy("7", "alice", "9007199254740993", 2).outcome())
                .isEqualTo(Outcome.ACCEPTED);
        Until.fails(() -> client.tryBuy("7", "bob", "9007199254740993"), Code.ORDERID);
        assertThat(client.tryBuy("7", "alice", "o2", 2).outcome()).isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.tryBuy("7", "bob", "o3", 3).outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.tryBuy("7", "carol", "o4").outcome()).isEqualTo(Outcome.SOLD_OUT);

        OrderRef alices = OrderRef.of("7", "alice", "9007199254740993");
        OrderRef bobs = OrderRef.of("7", "bob", "o3");
        assertThat(client.extend(bobs, Duration.ofMinutes(9))).isEqualTo(Extension.EXTENDED);
        assertThat(client.confirm(alices, "pay-1")).isEqualTo(Confirmation.CONFIRMED);
        assertThat(client.confirm(alices)).isEqualTo(Confirmation.ALREADY_SOLD);
        assertThat(client.confirm(alices, "pay-2")).isEqualTo(Confirmation.DUPLICATE_PAYMENT);
        Until.fails(() -> client.confirm(bobs, "pay-1"), Code.REF);
        anOperatorRefunds(alices);
        assertThat(client.confirm(OrderRef.of("7", "alice", "none")))
                .isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.cancelIf(alices, Order.State.HELD)).isEqualTo(Cancellation.OTHER_STATE);

        SaleInfo info = client.info("7");
        long sale = info.sale() == null ? 0 : info.sale();
        assertThat(client.order("7", "9007199254740993"))
                .contains(new Order(
                        "alice", 2, 2, Order.State.SOLD, null, null, "pay-1", sale, null));
        assertThat(client.order("7", "none")).isEmpty();
        BuyerStatus status = client.status("7", "bob").orElseThrow();
        assertThat(status.state()).isEqualTo(Order.State.HELD);
        assertThat(status.deadline()).isAfter(Instant.now().plusSeconds(500));
        assertThat(client.status("7", "carol")).isEmpty();

        assertThat(info).isEqualTo(new SaleInfo(
                true, SaleInfo.State.SOLDOUT, 5L, 0L, 3L, 2L, 2, 0L, Instant.ofEpochMilli(1),
                Instant.ofEpochMilli(4_102_444_800_000L), 3, Duration.ofMinutes(5), null, sale,
                true));
        assertThat(client.audit("7").isSound()).isTrue();

        assertThat(client.cancel(bobs.inSale(sale + 1))).isEqualTo(Cancellation.NO_ORDER);
        Until.fails(() -> client.drop("7"), Code.HELD);
        assertThat(client.cancel(bobs.inSale(sale))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.cancel(bobs)).isEqualTo(Cancellation.ALREADY_RELEASED);
        assertThat(client.tryBuy("7", "bob", "o3", 3).outcome()).isEqualTo(Outcome.RELEASED);
        assertThat(client.reserve(tryBuy("7", "bob", "o3", 3)))
                .extracting(Purchase::outcome).isEqualTo(Outcome.RELEASED);
        parts(alices, sale);
        assertThat(client.run(restock("7", 2).inSale(sale))).isEqualTo(7);
        assertThat(client.restockTo("7", 9)).isEqualTo(9);
        assertThat(client.run(restockTo("7", 9).inSale(sale))).isEqualTo(9);
        OrderRef lost = new OrderRef("7", "alice", "lost", sale);
        for (int repetition = 0; repetition < 2; repetition++) {
            assertThat(client.restockFor(lost, -1)).isEqualTo(8);
        }
        Until.fails(() -> client.restockFor(lost, -2), Code.ORDERID);
        assertThat(client.restockFor(lost, 1)).isEqualTo(9);
        Until.fails(() -> client.restock("7", -10), Code.STOCK);
        Until.fails(() -> client.run(restockTo("7", 10).inSale(sale + 1)), Code.SALE);
        SaleRules over = SaleRules.none().begin(Instant.EPOCH).end(Instant.ofEpochMilli(1));
        client.alter("7", over);
        assertThat(client.tryBuy("7", "dora", "o5").outcome()).isEqualTo(Outcome.ENDED);
        client.run(alter("7", SaleRules.none().end(Instant.EPOCH)).inSale(sale));
        assertThat(client.run(tryBuy("7", "dora", "o5").inSale(sale + 1)).outcome()).isEqualTo(Outcome.ENDED);
        assertThat(client.run(reserve(tryBuy("7", "dora", "o5", 2)).inSale(sale)).deadline())
                .isNotNull();
        assertThatThrownBy(() -> info("7").inSale(sale)).hasMessageContaining("names no sale");
        Until.fails(() -> client.run(releaseAndDrop("7").inSale(sale + 1)), Code.SALE);
        assertThat(client.run(releaseAndDrop("7").inSale(sale))).isTrue();
        assertThat(client.releaseAndDrop("7")).isFalse();
        assertThatThrownBy(() -> client.tryBuy("7", "eve", "o6"))
                .hasFieldOrPropertyWithValue("code", Code.NOVOUCHER)
                .hasStackTraceContaining("CommandsTest");
    }

    /** A payment of no order is kept as that, until an operator says that it is refunded. */
    private void anOperatorRefunds(OrderRef paid) {
        OrderRef none = OrderRef.of("7", "dora", "none");
        assertThat(client.confirm(none, "pay-0")).isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.recordRefund(none, "pay-0")).isEqualTo(Confirmation.TOO_LATE);
        assertThat(client.confirm(none, "pay-0")).isEqualTo(Confirmation.TOO_LATE);
        assertThat(client.recordRefund(paid, "pay-1")).isEqualTo(Confirmation.ALREADY_SOLD);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_sale_without_its_stock_releases_nothing(String program, ProtocolVersion version) {
        open(program, version);
        client.create("7", 1, SaleRules.none().hold(Duration.ofMinutes(5)));
        assertThat(client.tryBuy("7", "alice", "o1").outcome()).isEqualTo(Outcome.ACCEPTED);
        OrderRef order = OrderRef.of("7", "alice", "o1");
        plain.rename("seckill:stock:7", "away");
        Until.fails(() -> client.cancel(order), Code.INCOMPLETE);
        plain.rename("away", "seckill:stock:7");
        assertThat(client.cancel(order)).isEqualTo(Cancellation.RELEASED);
    }

    /** A paid order of two units is released, one by one. */
    private void parts(OrderRef order, long sale) {
        assertThat(client.cancelAllBut(order, 1)).isEqualTo(Cancellation.RELEASED);
        assertThat(client.cancelAllBut(order, 1)).isEqualTo(Cancellation.ALREADY_RELEASED);
        Order kept = client.order("7", order.orderId()).orElseThrow();
        assertThat(kept.units()).isEqualTo(1);
        assertThat(kept.asked()).isEqualTo(2);
        assertThat(kept.state()).isEqualTo(Order.State.SOLD);
        assertThat(client.cancel(order.inSale(sale))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.order("7", order.orderId()).orElseThrow().was())
                .isEqualTo(Order.State.SOLD);
        assertThat(client.confirm(order, "pay-1")).isEqualTo(Confirmation.RELEASED_SINCE);
        assertThat(client.confirm(order, "pay-3")).isEqualTo(Confirmation.TOO_LATE);
    }

    private static Map<String, Long> cart(long shoes, long socks) {
        return Map.of("shoe", shoes, "sock", socks);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_cart_is_bought_whole_or_not_at_all(String program, ProtocolVersion version) {
        open(program, version);
        client.create("shoe", 2, SaleRules.none().hold(Duration.ofMinutes(5)).limit(2));
        client.create("sock", 9, SaleRules.none().hold(Duration.ofMinutes(5)).limit(4));
        Map<String, Outcome> alices = client.tryAll("alice", "o1", cart(2, 3));
        assertThat(alices.values()).containsOnly(Outcome.ACCEPTED);
        assertThat(client.tryAll("alice", "o1", cart(2, 3))).isEqualTo(alices);
        Map<String, Outcome> bobs = client.tryAll("bob", "o2", cart(1, 1));
        assertThat(bobs).isEqualTo(
                Map.of("shoe", Outcome.SOLD_OUT, "sock", Outcome.NOT_TAKEN));
        assertThat(client.info("sock").left()).isEqualTo(6);
        assertThat(client.tryAll("bob", "o2", Map.of("sock", 1L)).values())
                .containsOnly(Outcome.ACCEPTED);
        Until.fails(() -> client.tryAll("alice", "o1", cart(2, 1)), Code.ORDERID);
        Until.fails(() -> client.tryAll("eve", "o3", Map.of("hat", 1L)), Code.NOVOUCHER);
        Order shoes = client.order("shoe", "o1").orElseThrow();
        assertThat(client.order("sock", "o1").orElseThrow().deadline()).isEqualTo(shoes.deadline());
        assertThat(client.cancel(OrderRef.of("shoe", "alice", "o1")))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.tryAll("alice", "o1", cart(2, 3))).isEqualTo(
                Map.of("shoe", Outcome.RELEASED, "sock", Outcome.ACCEPTED));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_try_has_a_lower_limit_of_its_own(String program, ProtocolVersion version) {
        open(program, version);
        client.create("7", 9, SaleRules.none().hold(Duration.ofMinutes(5)).limit(3));
        Try first = tryBuy("7", "alice", "o1", 2).limit(2);
        assertThat(client.run(first).outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(tryBuy("7", "alice", "o2").limit(2)).outcome()).isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.run(tryBuy("7", "alice", "o2").limit(2).waitlist()).outcome())
                .isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.tryBuy("7", "alice", "o2").outcome()).isEqualTo(Outcome.ACCEPTED);
        // What was accepted stays so. The voucher's own limit holds, too.
        assertThat(client.run(first).outcome()).isEqualTo(Outcome.ACCEPTED);
        long sale = client.info("7").sale();
        assertThat(client.run(tryBuy("7", "alice", "o3").inSale(sale).limit(9)).outcome())
                .isEqualTo(Outcome.AT_LIMIT);
        plain.set("seckill:stock:8", "3");
        Until.fails(() -> client.run(tryBuy("8", "bob", "o4").limit(1)), Code.NOVOUCHER);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_payment_for_units_and_units_that_do_not_return(String program, ProtocolVersion version) {
        open(program, version);
        client.create("7", 9, SaleRules.none().hold(Duration.ofMinutes(5)).limit(4));
        OrderRef alices = OrderRef.of("7", "alice", "o1");
        assertThat(client.tryBuy("7", "alice", "o1", 4).outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.confirm(alices, "pay-0", 3)).isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.order("7", "o1").orElseThrow().state()).isEqualTo(Order.State.HELD);
        assertThat(client.cancel(alices, Release.REFUNDED)).isEqualTo(Cancellation.OTHER_STATE);
        assertThat(client.confirm(alices, "pay-1", 4)).isEqualTo(Confirmation.CONFIRMED);
        assertThat(client.confirm(alices, "pay-1", 4)).isEqualTo(Confirmation.ALREADY_SOLD);
        Until.fails(() -> client.confirm(alices, "pay-1", 5), Code.UNITS);
        assertThat(client.cancelPaidBy(alices, "pay-0", Release.REFUNDED))
                .isEqualTo(Cancellation.OTHER_STATE);
        assertThat(client.cancelAllBut(alices, 3, Release.NORESTOCK))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.info("7").total()).isEqualTo(8);
        assertThat(client.info("7").left()).isEqualTo(5);
        for (Cancellation said : List.of(Cancellation.RELEASED, Cancellation.ALREADY_RELEASED)) {
            assertThat(client.cancelPaidBy(
                    alices, "pay-1", Release.NORESTOCK, Release.REFUNDED)).isEqualTo(said);
        }
        assertThat(client.info("7").total()).isEqualTo(5);
        assertThat(client.info("7").left()).isEqualTo(5);
        assertThat(plain.xrange("stream.orders.released", Range.unbounded())).satisfiesExactly(
                part -> assertThat(part.getBody()).containsEntry("norestock", "1")
                        .doesNotContainKey("refunded"),
                rest -> assertThat(rest.getBody()).containsEntry("norestock", "1")
                        .containsEntry("refunded", "1"));
        assertThat(client.audit("7").isSound()).isTrue();
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void unmanaged_vouchers_and_bare_stocks(String program, ProtocolVersion version) {
        open(program, version);
        plain.set("seckill:stock:8", "3");
        assertThat(client.tryBuy("8", "用户", "订单").outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.tryBuy("8", "用户", "订单").outcome()).isEqualTo(Outcome.AT_LIMIT);
        assertThat(plain.sismember("seckill:order:8", "用户")).isTrue();
        assertThat(client.tryBuy("8", "bob", "o2").orderId()).isEqualTo("o2");
        assertThat(client.cancel(OrderRef.of("8", "bob", "any"))).isEqualTo(Cancellation.RELEASED);
        SaleInfo info = client.info("8");
        assertThat(info.managed()).isFalse();
        assertThat(info.total()).isNull();
        assertThat(info.left()).isEqualTo(2);
        assertThat(client.status("8", "用户").orElseThrow().units()).isNull();

        List<String> keys = List.of("stock", "buyers", "orders");
        Try keyed = tryKeys(
                keys, "9", "carol", "o1", "FIELDS", "u", "v", "o", "MISSING", "sold-out");
        assertThat(client.run(keyed).outcome()).isEqualTo(Outcome.SOLD_OUT);
        plain.set("stock", "1");
        assertThat(client.run(keyed).outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(plain.xrange("orders", Range.unbounded()).get(0).getBody())
                .isEqualTo(Map.of("u", "carol", "v", "9", "o", "o1"));

        assertThat(client.deduct("bare", 1)).isEqualTo(-1);
        plain.set("bare", "5");
        assertThat(client.deduct("bare", 3)).isEqualTo(5);
        assertThat(client.deduct("bare", 3)).isZero();
        assertThat(client.returnUnits("bare", 3)).isEqualTo(5);
        plain.set("seckill:stock:10", "4");
        client.adopt("10", SaleRules.none());
        assertThat(client.info("10").total()).isEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void ids_prizes_and_dead_letters(String program, ProtocolVersion version) {
        open(program, version);
        client.create("7", 2, SaleRules.none());
        client.tryBuy("7", "alice", "o1");
        long id = Long.parseLong(client.nextId("order"));
        // Lettuce 7 has another signature of KEYS.
        var counters = ScanArgs.Builder.limit(1_000).match("icr:order:*");
        assertThat(plain.scan(counters).getKeys()).hasSize(1);
        assertThat(Long.parseLong(client.nextId("order"))).isGreaterThan(id);

        plain.rpush("seckill:codes:p", "WIN-1");
        assertThat(client.draw("p", "alice")).isEqualTo(new Prize("WIN-1", false));
        assertThat(client.draw("p", "alice")).isEqualTo(new Prize("WIN-1", true));
        assertThat(client.draw("p", "bob")).isEqualTo(new Prize(null, false));
        assertThat(client.undraw("p", "alice")).isTrue();
        assertThat(client.undraw("p", "alice")).isFalse();

        rejects();
    }

    @SuppressWarnings("unchecked") // a generic array for varargs
    private void rejects() {
        Until.fails(() -> client.reject("stream.orders", "g", "1-1", "no"), Code.NOGROUP);
        plain.xgroupCreate(StreamOffset.from("stream.orders", "0"), "g");
        var entries = plain
                .xreadgroup(Consumer.from("g", "c"), StreamOffset.lastConsumed("stream.orders"));
        String id = entries.get(0).getId();
        assertThat(client.reject("stream.orders", "g", id, "no such product")).isTrue();
        assertThat(client.reject("stream.orders", "g", id, "no such product")).isFalse();
        List<DeadLetter> letters = client.deadLetters("stream.orders", "0", 10);
        assertThat(letters).hasSize(1);
        assertThat(letters.get(0).reason()).isEqualTo("no such product");
        assertThat(letters.get(0).order()).isEqualTo("rejected");
        assertThat(letters.get(0).entryId()).isEqualTo(id);
        assertThat(client.deadLetters("stream.orders", letters.get(0).id(), 10)).isEmpty();
        assertThat(client.order("7", "o1").map(Order::state))
                .isEqualTo(Optional.of(Order.State.REJECTED));
    }

    /** What has no code of its own is told by the first word of the server's error. */
    private void saysWord(String word) {
        assertThatThrownBy(() -> client.tryBuy("2", "a", "o"))
                .hasFieldOrPropertyWithValue("code", Code.OTHER)
                .hasFieldOrPropertyWithValue("word", word);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void mistakes_are_thrown_by_their_code_word(String program, ProtocolVersion version) {
        open(program, version);
        plain.lpush("seckill:stock:1", "x");
        Until.fails(() -> client.tryBuy("1", "a", "o"), Code.WRONGTYPE);
        plain.set("seckill:stock:2", "5.5");
        saysWord("ERR");
        plain.set("seckill:stock:2", "5");
        plain.configSet("maxmemory", "1");
        saysWord("OOM");
        plain.configSet("maxmemory", "0");
        plain.aclSetuser("default", AclSetuserArgs.Builder.resetKeys());
        saysWord("NOPERM");
        plain.aclSetuser("default", AclSetuserArgs.Builder.allKeys());
        assertThat(client.tryBuy("2", "a", "o").outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThatThrownBy(() -> client.tryBuy("2", "a", "*"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> client.tryBuy("2", "a", "o", 0))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Try join(String user, long units) {
        return tryBuy("7", user, user + "1", units).waitlist();
    }

    private Order placed(String orderId) {
        return client.order("7", orderId).orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void an_order_in_queue_is_served_when_the_head_leaves(String program) throws Exception {
        shop = new Shop(program);
        client = shop.client(Shop.PATIENT);
        client.create("7", 2, SaleRules.none().hold(Duration.ofMinutes(10)).limit(2));
        OrderRef alices = OrderRef.of("7", "alice", "alice1");
        assertThat(client.tryBuy("7", "alice", "alice1", 2).outcome()).isEqualTo(Outcome.ACCEPTED);

        assertThat(client.run(join("bob", 2)).outcome()).isEqualTo(Outcome.WAITING);
        assertThat(client.tryBuy("7", "bob", "bob1", 2).outcome()).isEqualTo(Outcome.WAITING);
        assertThat(client.reserve(join("carol", 1)))
                .satisfies(carols -> {
                    assertThat(carols.outcome()).isEqualTo(Outcome.WAITING);
                    assertThat(carols.order().position()).isEqualTo(2);
                });
        client.run(join("dora", 1));
        assertThat(placed("bob1").state()).isEqualTo(Order.State.WAITING);
        assertThat(placed("bob1").position()).isEqualTo(1);
        assertThat(placed("dora1").position()).isEqualTo(3);
        assertThat(client.info("7").waiting()).isEqualTo(3);
        assertThat(client.status("7", "bob").orElseThrow().waiting()).isEqualTo(2);
        assertThat(client.audit("7").waiting()).isEqualTo(3);

        // One unit returns: the first in the queue wants two, and nobody overtakes.
        assertThat(client.cancelAllBut(alices, 1)).isEqualTo(Cancellation.RELEASED);
        assertThat(client.tryBuy("7", "eve", "eve1").outcome()).isEqualTo(Outcome.SOLD_OUT);
        assertThat(placed("carol1").position()).isEqualTo(2);
        OrderRef carols = OrderRef.of("7", "carol", "carol1");
        assertThat(client.confirm(carols)).isEqualTo(Confirmation.NO_ORDER);

        assertThat(client.cancel(OrderRef.of("7", "bob", "bob1"))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(join("bob", 2)).outcome()).isEqualTo(Outcome.RELEASED);
        assertThat(placed("bob1").was()).isEqualTo(Order.State.WAITING);
        assertThat(client.run(join("carol", 1)).outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.reserve("7", "carol", "carol1").deadline()).isNotNull();
        assertThat(client.confirm(carols)).isEqualTo(Confirmation.CONFIRMED);
        assertThat(placed("dora1").position()).isEqualTo(1);
        assertThat(shop.plain.xrange("stream.orders", Range.unbounded()))
                .satisfiesExactly(
                        first -> assertThat(first.getBody()).doesNotContainKey("waited"),
                        served -> assertThat(served.getBody())
                                .containsEntry("id", "carol1").containsKey("waited"));
        client.alter("7", SaleRules.none().end(Instant.ofEpochMilli(1)));
        assertThat(placed("dora1").state()).isEqualTo(Order.State.EXPIRED);
        assertThat(client.audit("7").isSound()).isTrue();
    }
}
