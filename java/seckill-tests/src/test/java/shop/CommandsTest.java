package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.AclSetuserArgs;
import io.lettuce.core.Consumer;
import io.lettuce.core.Range;
import io.lettuce.core.ScanArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

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
        client = shop.client(SeckillOptions.defaults());
        plain = shop.plain;
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_managed_sale_from_its_creation_to_its_end(String program, ProtocolVersion version) {
        open(program, version);
        SaleRules rules = SaleRules.none()
                .begin(Instant.ofEpochMilli(1)).end(Instant.ofEpochMilli(4_102_444_800_000L))
                .limit(3).hold(Duration.ofMinutes(5));
        client.run(create("7", 5, rules));
        assertThatThrownBy(() -> client.run(create("7", 5, rules)))
                .hasFieldOrPropertyWithValue("code", Code.BUSYKEY)
                .hasMessageStartingWith("BUSYKEY ");

        Reservation held = client.run(reserve(tryBuy("7", "alice", "9007199254740993", 2)));
        assertThat(held).isInstanceOf(Reservation.Held.class);
        assertThat(client.run(tryBuy("7", "alice", "9007199254740993", 2)))
                .isEqualTo(Outcome.ACCEPTED);
        Until.fails(() -> client.tryBuy("7", "bob", "9007199254740993"), Code.ORDERID);
        assertThat(client.run(tryBuy("7", "alice", "o2", 2))).isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.run(tryBuy("7", "bob", "o3", 3))).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.tryBuy("7", "carol", "o4")).isEqualTo(Outcome.SOLD_OUT);
        assertThat(client.tryBuy("7", "carol")).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));

        OrderRef alices = OrderRef.of("7", "alice", "9007199254740993");
        OrderRef bobs = OrderRef.of("7", "bob", "o3");
        assertThat(client.run(extend(bobs, Duration.ofMinutes(9)))).isEqualTo(Extension.EXTENDED);
        assertThat(client.run(confirm(alices, "pay-1"))).isEqualTo(Confirmation.CONFIRMED);
        assertThat(client.run(confirm(alices))).isEqualTo(Confirmation.ALREADY_SOLD);
        assertThat(client.run(confirm(alices, "pay-2"))).isEqualTo(Confirmation.SECOND_PAYMENT);
        Until.fails(() -> client.run(confirm(bobs, "pay-1")), Code.REF);
        aPersonRefunds(alices);
        assertThat(client.run(confirm(OrderRef.of("7", "alice", "none"))))
                .isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.run(cancelIf(alices, OrderState.HELD)))
                .isEqualTo(Cancellation.OTHER_STATE);

        SaleInfo info = client.run(info("7"));
        long sale = info.sale() == null ? 0 : info.sale();
        assertThat(client.run(order("7", "9007199254740993")))
                .contains(new Order(
                        "alice", 2, 2, OrderState.SOLD, null, null, "pay-1", sale, null));
        assertThat(client.run(order("7", "none"))).isEmpty();
        BuyerStatus status = client.run(status("7", "bob")).orElseThrow();
        assertThat(status.state()).isEqualTo(OrderState.HELD);
        assertThat(status.deadline()).isAfter(Instant.now().plusSeconds(500));
        assertThat(client.run(status("7", "carol"))).isEmpty();

        assertThat(info).isEqualTo(new SaleInfo(
                true, SaleState.SOLDOUT, 5L, 0L, 3L, 2L, 2, 0L, Instant.ofEpochMilli(1),
                Instant.ofEpochMilli(4_102_444_800_000L), 3, Duration.ofMinutes(5), null, sale,
                true));
        assertThat(client.run(audit("7")).isSound()).isTrue();

        assertThat(client.run(cancel(bobs.inSale(sale + 1)))).isEqualTo(Cancellation.NO_ORDER);
        Until.fails(() -> client.run(drop("7")), Code.HELD);
        assertThat(client.run(cancel(bobs.inSale(sale)))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(cancel(bobs))).isEqualTo(Cancellation.ALREADY_RELEASED);
        assertThat(client.run(tryBuy("7", "bob", "o3", 3))).isEqualTo(Outcome.RELEASED);
        assertThat(client.run(reserve(tryBuy("7", "bob", "o3", 3))))
                .isEqualTo(new Reservation.Refused(Outcome.RELEASED));
        parts(alices, sale);
        assertThat(client.run(restock("7", 2).inSale(sale))).isEqualTo(7);
        assertThat(client.run(restockTo("7", 9))).isEqualTo(9);
        assertThat(client.run(restockTo("7", 9).inSale(sale))).isEqualTo(9);
        for (int repetition = 0; repetition < 2; repetition++) {
            assertThat(client.run(restockFor("7", -1, "lost", sale))).isEqualTo(8);
        }
        Until.fails(() -> client.run(restockFor("7", -2, "lost", sale)), Code.ORDERID);
        assertThat(client.run(restockFor("7", 1, "lost", sale))).isEqualTo(9);
        Until.fails(() -> client.run(restock("7", -10)), Code.STOCK);
        Until.fails(() -> client.run(restockTo("7", 10).inSale(sale + 1)), Code.SALE);
        SaleRules over = SaleRules.none().begin(Instant.EPOCH).end(Instant.ofEpochMilli(1));
        client.run(alter("7", over));
        assertThat(client.tryBuy("7", "dora", "o5")).isEqualTo(Outcome.ENDED);
        client.run(alter("7", SaleRules.none().end(Instant.EPOCH)).inSale(sale));
        assertThat(client.run(tryBuy("7", "dora", "o5").inSale(sale + 1))).isEqualTo(Outcome.ENDED);
        assertThat(client.run(reserve(tryBuy("7", "dora", "o5", 2)).inSale(sale)))
                .isInstanceOf(Reservation.Held.class);
        assertThat(client.run(tryBuy("7", "eve").inSale(sale)))
                .isInstanceOf(Purchase.Accepted.class);
        Until.fails(() -> client.run(releaseAndDrop("7").inSale(sale + 1)), Code.SALE);
        assertThat(client.run(releaseAndDrop("7").inSale(sale))).isEqualTo(DropResult.DROPPED);
        assertThat(client.run(releaseAndDrop("7"))).isEqualTo(DropResult.NO_VOUCHER);
        assertThatThrownBy(() -> client.tryBuy("7", "eve", "o6"))
                .hasFieldOrPropertyWithValue("code", Code.NOVOUCHER)
                .hasStackTraceContaining("CommandsTest");
    }

    /** A payment of no order is kept as that, until a person says that it is refunded. */
    private void aPersonRefunds(OrderRef paid) {
        OrderRef none = OrderRef.of("7", "dora", "none");
        assertThat(client.run(confirm(none, "pay-0"))).isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.run(recordRefund(none, "pay-0"))).isEqualTo(Confirmation.TOO_LATE);
        assertThat(client.run(confirm(none, "pay-0"))).isEqualTo(Confirmation.TOO_LATE);
        assertThat(client.run(recordRefund(paid, "pay-1"))).isEqualTo(Confirmation.ALREADY_SOLD);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_sale_without_its_stock_releases_nothing(String program, ProtocolVersion version) {
        open(program, version);
        client.run(create("7", 1, SaleRules.none().hold(Duration.ofMinutes(5))));
        assertThat(client.tryBuy("7", "alice", "o1")).isEqualTo(Outcome.ACCEPTED);
        OrderRef order = OrderRef.of("7", "alice", "o1");
        plain.rename("seckill:stock:7", "away");
        Until.fails(() -> client.run(cancel(order)), Code.INCOMPLETE);
        plain.rename("away", "seckill:stock:7");
        assertThat(client.run(cancel(order))).isEqualTo(Cancellation.RELEASED);
    }

    /** A paid order of two units is released, one by one. */
    private void parts(OrderRef order, long sale) {
        assertThat(client.run(cancelAllBut(order, 1))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(cancelAllBut(order, 1))).isEqualTo(Cancellation.ALREADY_RELEASED);
        Order kept = client.run(order("7", order.orderId())).orElseThrow();
        assertThat(kept.units()).isEqualTo(1);
        assertThat(kept.asked()).isEqualTo(2);
        assertThat(kept.state()).isEqualTo(OrderState.SOLD);
        assertThat(client.run(cancel(order.inSale(sale)))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(order("7", order.orderId())).orElseThrow().was())
                .isEqualTo(OrderState.SOLD);
        assertThat(client.run(confirm(order, "pay-1"))).isEqualTo(Confirmation.RELEASED_SINCE);
        assertThat(client.run(confirm(order, "pay-3"))).isEqualTo(Confirmation.TOO_LATE);
    }

    private static List<Article> cart(long shoes, long socks) {
        return List.of(new Article("shoe", shoes), new Article("sock", socks));
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_cart_is_bought_whole_or_not_at_all(String program, ProtocolVersion version) {
        open(program, version);
        client.create("shoe", 2, SaleRules.none().hold(Duration.ofMinutes(5)).limit(2));
        client.create("sock", 9, SaleRules.none().hold(Duration.ofMinutes(5)).limit(4));
        CartResult alices = client.tryAll("alice", "o1", cart(2, 3));
        assertThat(alices.isBought()).isTrue();
        assertThat(client.tryAll("alice", "o1", cart(2, 3))).isEqualTo(alices);
        CartResult bobs = client.tryAll("bob", "o2", cart(1, 1));
        assertThat(bobs.outcomes()).containsExactly(Outcome.SOLD_OUT, Outcome.NOT_TAKEN);
        assertThat(bobs.isBought()).isFalse();
        assertThat(client.info("sock").left()).isEqualTo(6);
        assertThat(client.tryAll("bob", "o2", List.of(new Article("sock", 1))).isBought()).isTrue();
        Until.fails(() -> client.tryAll("alice", "o1", cart(2, 1)), Code.ORDERID);
        Until.fails(() -> client.tryAll("eve", "o3", List.of(new Article("hat", 1))), Code.NOVOUCHER);
        Order shoes = client.order("shoe", "o1").orElseThrow();
        assertThat(client.order("sock", "o1").orElseThrow().deadline()).isEqualTo(shoes.deadline());
        assertThat(client.cancel(OrderRef.of("shoe", "alice", "o1")))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.tryAll("alice", "o1", cart(2, 3)).outcomes())
                .containsExactly(Outcome.RELEASED, Outcome.ACCEPTED);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void a_try_has_a_lower_limit_of_its_own(String program, ProtocolVersion version) {
        open(program, version);
        client.create("7", 9, SaleRules.none().hold(Duration.ofMinutes(5)).limit(3));
        Try<Outcome> first = tryBuy("7", "alice", "o1", 2).limit(2);
        assertThat(client.run(first)).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(tryBuy("7", "alice", "o2").limit(2))).isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.run(tryBuy("7", "alice", "o2").limit(2).waitlist()))
                .isEqualTo(Outcome.AT_LIMIT);
        assertThat(client.tryBuy("7", "alice", "o2")).isEqualTo(Outcome.ACCEPTED);
        // What was accepted stays so. The voucher's own limit holds, too.
        assertThat(client.run(first)).isEqualTo(Outcome.ACCEPTED);
        long sale = client.info("7").sale();
        assertThat(client.run(tryBuy("7", "alice", "o3").inSale(sale).limit(9)))
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
        assertThat(client.run(tryBuy("7", "alice", "o1", 4))).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.confirm(alices, "pay-0", 3)).isEqualTo(Confirmation.NO_ORDER);
        assertThat(client.order("7", "o1").orElseThrow().state()).isEqualTo(OrderState.HELD);
        assertThat(client.cancel(alices, Release.REFUNDED)).isEqualTo(Cancellation.OTHER_STATE);
        assertThat(client.confirm(alices, "pay-1", 4)).isEqualTo(Confirmation.CONFIRMED);
        assertThat(client.confirm(alices, "pay-1", 4)).isEqualTo(Confirmation.ALREADY_SOLD);
        Until.fails(() -> client.confirm(alices, "pay-1", 5), Code.UNITS);
        assertThat(client.cancelAllBut(alices, 3, Release.NORESTOCK))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.info("7").total()).isEqualTo(8);
        assertThat(client.info("7").left()).isEqualTo(5);
        for (Cancellation said : List.of(Cancellation.RELEASED, Cancellation.ALREADY_RELEASED)) {
            assertThat(client.cancel(alices, Release.NORESTOCK, Release.REFUNDED)).isEqualTo(said);
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
        assertThat(client.tryBuy("8", "用户", "订单")).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.tryBuy("8", "用户", "订单")).isEqualTo(Outcome.AT_LIMIT);
        assertThat(plain.sismember("seckill:order:8", "用户")).isTrue();
        assertThat(client.tryBuy("8", "bob")).isInstanceOf(Purchase.Accepted.class);
        assertThat(client.run(cancel(OrderRef.of("8", "bob", "any"))))
                .isEqualTo(Cancellation.RELEASED);
        SaleInfo info = client.run(info("8"));
        assertThat(info.managed()).isFalse();
        assertThat(info.total()).isNull();
        assertThat(info.left()).isEqualTo(2);
        assertThat(client.run(status("8", "用户")).orElseThrow().units()).isNull();

        KeyedTry keyed = new KeyedTry(
                "stock", "buyers", "orders", "9", "carol", "o1", 1,
                new KeyedTry.Fields("u", "v", "o"), true);
        assertThat(client.run(tryKeys(keyed))).isEqualTo(Outcome.SOLD_OUT);
        plain.set("stock", "1");
        assertThat(client.run(tryKeys(keyed))).isEqualTo(Outcome.ACCEPTED);
        assertThat(plain.xrange("orders", Range.unbounded()).get(0).getBody())
                .isEqualTo(Map.of("u", "carol", "v", "9", "o", "o1"));

        assertThat(client.run(deduct("bare", 1))).isEqualTo(new Deduction.NoKey());
        plain.set("bare", "5");
        assertThat(client.run(deduct("bare", 3))).isEqualTo(new Deduction.Taken(5));
        assertThat(client.run(deduct("bare", 3))).isEqualTo(new Deduction.TooFew());
        assertThat(client.run(returnUnits("bare", 3))).isEqualTo(5);
        plain.set("seckill:stock:10", "4");
        client.run(adopt("10", SaleRules.none()));
        assertThat(client.run(info("10")).total()).isEqualTo(4);
    }

    @ParameterizedTest
    @MethodSource("everywhere")
    void batches_ids_prizes_and_dead_letters(String program, ProtocolVersion version) {
        open(program, version);
        client.run(create("7", 2, SaleRules.none()));
        client.tryBuy("7", "alice", "o1");
        List<AttemptResult> results = client.run(tryAll("7", List.of(
                new Attempt("alice", "o1"), new Attempt("bob", "o1"),
                new Attempt("carol", "o3"), new Attempt("dora", "o4"))));
        assertThat(results.get(0)).isEqualTo(new AttemptResult.Decided(Outcome.ACCEPTED));
        AttemptResult.Mistaken bobs = (AttemptResult.Mistaken) results.get(1);
        assertThat(bobs.mistake().code()).isEqualTo(Code.ORDERID);
        assertThat(results.get(2)).isEqualTo(new AttemptResult.Decided(Outcome.ACCEPTED));
        assertThat(results.get(3)).isEqualTo(new AttemptResult.Decided(Outcome.SOLD_OUT));

        List<String> ids = client.run(nextIds("order", 3));
        assertThat(ids).hasSize(3);
        // Lettuce 7 has another signature of KEYS.
        var counters = ScanArgs.Builder.limit(1_000).match("icr:order:*");
        assertThat(plain.scan(counters).getKeys()).hasSize(1);
        assertThat(Long.parseLong(ids.get(2)) - Long.parseLong(ids.get(0))).isEqualTo(2);
        assertThat(Long.parseLong(client.run(nextId("order"))))
                .isGreaterThan(Long.parseLong(ids.get(2)));

        plain.rpush("seckill:codes:p", "WIN-1");
        assertThat(client.run(draw("p", "alice"))).isEqualTo(new Prize.Drawn("WIN-1"));
        assertThat(client.run(draw("p", "alice"))).isEqualTo(new Prize.DrawnBefore("WIN-1"));
        assertThat(client.run(draw("p", "bob"))).isEqualTo(new Prize.Empty());
        assertThat(client.run(undraw("p", "alice"))).isTrue();
        assertThat(client.run(undraw("p", "alice"))).isFalse();

        rejects();
    }

    @SuppressWarnings("unchecked") // a generic array for varargs
    private void rejects() {
        Until.fails(() -> client.run(reject("stream.orders", "g", "1-1", "no")), Code.NOGROUP);
        plain.xgroupCreate(StreamOffset.from("stream.orders", "0"), "g");
        var entries = plain
                .xreadgroup(Consumer.from("g", "c"), StreamOffset.lastConsumed("stream.orders"));
        String id = entries.get(0).getId();
        assertThat(client.run(reject("stream.orders", "g", id, "no such product"))).isTrue();
        assertThat(client.run(reject("stream.orders", "g", id, "no such product"))).isFalse();
        List<DeadLetter> letters = client.run(deadLetters("stream.orders", "0", 10));
        assertThat(letters).hasSize(1);
        assertThat(letters.get(0).reason()).isEqualTo("no such product");
        assertThat(letters.get(0).order()).isEqualTo("rejected");
        assertThat(letters.get(0).entryId()).isEqualTo(id);
        assertThat(client.run(deadLetters("stream.orders", letters.get(0).id(), 10))).isEmpty();
        assertThat(client.run(order("7", "o1")).map(Order::state))
                .isEqualTo(Optional.of(OrderState.REJECTED));
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
        assertThat(client.tryBuy("2", "a", "o")).isEqualTo(Outcome.ACCEPTED);
        assertThatThrownBy(() -> client.tryBuy("2", "a", "*"))
                .isInstanceOf(IllegalArgumentException.class);
        assertThatThrownBy(() -> client.run(tryBuy("2", "a", "o", 0)))
                .isInstanceOf(IllegalArgumentException.class);
    }

    private static Try<Outcome> join(String user, long units) {
        return tryBuy("7", user, user + "1", units).waitlist();
    }

    private Order placed(String orderId) {
        return client.run(order("7", orderId)).orElseThrow();
    }

    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void an_order_in_line_is_served_when_the_head_leaves(String program) throws Exception {
        shop = new Shop(program);
        client = shop.client(SeckillOptions.defaults());
        client.run(create("7", 2, SaleRules.none().hold(Duration.ofMinutes(10)).limit(2)));
        OrderRef alices = OrderRef.of("7", "alice", "alice1");
        assertThat(client.run(tryBuy("7", "alice", "alice1", 2))).isEqualTo(Outcome.ACCEPTED);

        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.WAITING);
        assertThat(client.run(tryBuy("7", "bob", "bob1", 2))).isEqualTo(Outcome.WAITING);
        assertThat(client.run(reserve(join("carol", 1))))
                .isEqualTo(new Reservation.Waiting("carol1", 1, 2));
        String doras = ((Purchase.Waiting) client.run(tryBuy("7", "dora").waitlist())).orderId();
        assertThat(placed("bob1").state()).isEqualTo(OrderState.WAITING);
        assertThat(placed("bob1").position()).isEqualTo(1);
        assertThat(placed(doras).position()).isEqualTo(3);
        assertThat(client.run(info("7")).waiting()).isEqualTo(3);
        assertThat(client.run(status("7", "bob")).orElseThrow().waiting()).isEqualTo(2);
        assertThat(client.run(audit("7")).waiting()).isEqualTo(3);

        // One unit returns: the first in line wants two, and nobody overtakes.
        assertThat(client.run(cancelAllBut(alices, 1))).isEqualTo(Cancellation.RELEASED);
        assertThat(client.tryBuy("7", "eve", "eve1")).isEqualTo(Outcome.SOLD_OUT);
        assertThat(placed("carol1").position()).isEqualTo(2);
        OrderRef carols = OrderRef.of("7", "carol", "carol1");
        assertThat(client.run(confirm(carols))).isEqualTo(Confirmation.NO_ORDER);

        assertThat(client.run(cancel(OrderRef.of("7", "bob", "bob1"))))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(client.run(join("bob", 2))).isEqualTo(Outcome.RELEASED);
        assertThat(placed("bob1").was()).isEqualTo(OrderState.WAITING);
        assertThat(client.run(join("carol", 1))).isEqualTo(Outcome.ACCEPTED);
        assertThat(client.run(reserve("7", "carol", "carol1")))
                .isInstanceOf(Reservation.Held.class);
        assertThat(client.run(confirm(carols))).isEqualTo(Confirmation.CONFIRMED);
        assertThat(placed(doras).position()).isEqualTo(1);
        assertThat(shop.plain.xrange("stream.orders", Range.unbounded()))
                .satisfiesExactly(
                        first -> assertThat(first.getBody()).doesNotContainKey("waited"),
                        served -> assertThat(served.getBody())
                                .containsEntry("id", "carol1").containsKey("waited"));
        client.run(alter("7", SaleRules.none().end(Instant.ofEpochMilli(1))));
        assertThat(placed(doras).state()).isEqualTo(OrderState.EXPIRED);
        assertThat(client.run(audit("7")).isSound()).isTrue();
    }
}
