package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillTransport.StockWatch;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/**
 * Sold out is remembered in the clients, and forgotten when the server says so: it writes the
 * announcement of a change to every watching connection before it answers who has made the change.
 * What is asked on such a connection after that answer is answered behind the announcement. Where
 * no server is started, every answer is the test's.
 */
class SoldOutMemoryTest {
    private static final int CLIENTS = 4;
    private static final AtomicLong ORDERS = new AtomicLong();

    private final FakeTransport wire = new FakeTransport();
    private final SeckillOptions options = SeckillOptions.defaults()
            .rememberSoldOut(true).soldOutFor(Duration.ofHours(1)).coalescing(Coalescing.OFF);
    @AutoClose private SeckillClient client = SeckillClient.create(wire, options);
    private int orders;

    private CompletableFuture<Outcome> buy(String orderId) {
        return client.start(tryBuy("7", "alice", orderId));
    }

    private CompletableFuture<Outcome> buy() {
        orders++;
        return buy("o" + orders);
    }

    /** A try is answered sold out, and then the stock is read. */
    private void remember(long stock) {
        int tries = wire.count();
        int reads = wire.watched().size();
        buy();
        wire.answer(tries, 1L);
        wire.stock(reads, stock);
    }

    private boolean isAsked() {
        int before = wire.count();
        CompletableFuture<Outcome> attempt = buy();
        boolean asked = wire.count() > before;
        assertThat(attempt.isDone()).isNotEqualTo(asked);
        return asked;
    }

    @Test
    void where_the_server_makes_the_id_sold_out_is_remembered_too() {
        CompletableFuture<Purchase> first = client.start(tryBuy("7", "alice"));
        wire.answer(0, Arrays.asList(1L, null));
        assertThat(first.join()).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));
        wire.stock(0, 0);
        assertThat(client.tryBuy("7", "bob")).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));
        assertThat(wire.count()).isEqualTo(1);
        wire.listener().changed("seckill:stock:7");
        client.start(tryBuy("7", "bob"));
        assertThat(wire.count()).isEqualTo(2);
    }

    @Test
    void an_outcome_of_a_newer_server_is_unknown() {
        CompletableFuture<Outcome> attempt = buy("o9");
        wire.answer(0, 7L);
        assertThat(attempt.join()).isEqualTo(Outcome.UNKNOWN);
    }

    @Test
    void a_stock_that_is_not_empty_any_more_is_not_remembered() {
        remember(1);
        assertThat(isAsked()).isTrue();
    }

    @Test
    void a_change_that_overtakes_the_answer_counts() {
        buy();
        wire.answer(0, 1L);
        wire.listener().changed("seckill:stock:7");
        wire.stock(0, 0);
        assertThat(isAsked()).isTrue();
    }

    @Test
    void an_order_that_may_exist_is_always_asked_for() {
        CompletableFuture<Outcome> accepted = buy("mine");
        wire.answer(0, 0L);
        assertThat(accepted.join()).isEqualTo(Outcome.ACCEPTED);
        buy("under way");
        buy("unknown");
        wire.noAnswer(2);
        wire.answer(3, FakeTransport.UNMANAGED);
        remember(0);
        int before = wire.count();
        buy("mine");
        buy("under way");
        buy("unknown");
        assertThat(wire.count()).isEqualTo(before + 3);
        assertThat(isAsked()).isFalse();
    }

    @Test
    void the_last_million_orders_are_known_and_hardly_any_other() {
        wire.always = 0L;
        IntStream.range(0, 1_000_000).forEach(i -> buy("order-" + i));
        wire.always = null;
        remember(0);
        assertThat(asked(0)).isEqualTo(1_000);
        assertThat(asked(2_000_000)).isLessThan(50);
    }

    /** How many of a thousand orders are asked for. */
    private int asked(int first) {
        int before = wire.count();
        IntStream.range(first, first + 1_000).forEach(i -> buy("order-" + i));
        return wire.count() - before;
    }

    @Test
    void it_ends_by_itself() {
        client = SeckillClient.create(wire, options.soldOutFor(Duration.ofNanos(1)));
        remember(0);
        assertThat(isAsked()).isTrue();
    }

    @Test
    void names_follow_the_hash_tags_of_the_server() {
        client = SeckillClient.create(wire, options.stockNames("s:", true));
        List<String> keys = List.of("s:{7}", "s:{shop3}:7");
        buyBoth("o1");
        for (int i = 0; i < 2; i++) {
            wire.answer(i, 1L);
            wire.stock(i, 0);
        }
        assertThat(wire.watched()).isEqualTo(keys);
        buyBoth("o2");
        assertThat(wire.count()).isEqualTo(2);
        keys.forEach(key -> wire.listener().changed(key));
        buyBoth("o3");
        assertThat(wire.count()).isEqualTo(4);
    }

    private void buyBoth(String orderId) {
        client.start(tryBuy("7", "alice", orderId));
        client.start(tryBuy("{shop3}:7", "alice", orderId));
    }

    /** A client whose tries have new order ids, and whose watching connection can be asked. */
    private static final class Buyer implements AutoCloseable, SeckillObserver {
        private final AtomicInteger remembered = new AtomicInteger();
        private final RedisClient lettuce;
        private final SeckillClient client;
        private volatile StockWatch watch;

        Buyer(SeckillServer server, SeckillOptions options) {
            lettuce = RedisClient.create(server.uri());
            client = new SeckillClient(overheard(LettuceTransport.of(lettuce)), options, this);
        }

        private SeckillTransport overheard(SeckillTransport transport) {
            return (SeckillTransport) Proxy.newProxyInstance(
                    getClass().getClassLoader(), new Class<?>[] {SeckillTransport.class},
                    (proxy, method, arguments) -> {
                        try {
                            Object result = method.invoke(transport, arguments);
                            watch = result instanceof StockWatch made ? made : watch;
                            return result;
                        } catch (InvocationTargetException failed) {
                            throw failed.getCause();
                        }
                    });
        }

        @Override
        public void rememberedSoldOut() {
            remembered.incrementAndGet();
        }

        /** Asks the server something else on the connection that watches, and has the answer. */
        void roundTrip() {
            watch.watch("seckill:stock:other").toCompletableFuture().join();
        }

        Outcome buy() {
            String order = "o" + ORDERS.incrementAndGet();
            return client.tryBuy("7", order, order);
        }

        void awaitMemory() throws Exception {
            Shop.awaitMemory(client, remembered);
        }

        /** Buys until the server sells, once. */
        void awaitSold() throws Exception {
            await("sold again").until(() -> buy() == Outcome.ACCEPTED);
        }

        @Override
        public void close() {
            client.close();
            lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    @Test
    void what_is_remembered_is_answered_where_the_server_would_answer_by_its_rules()
            throws Exception {
        try (Shop shop = new Shop()) {
            SeckillClient remembers = shop.selling(Shop.REMEMBER, 1);
            assertThat(remembers.tryBuy("7", "alice", "a1")).isEqualTo(Outcome.ACCEPTED);
            Shop.awaitMemory(remembers, shop.remembered);
            SeckillClient asks = shop.client(SeckillOptions.defaults());
            assertThat(asks.tryBuy("7", "alice", "a2")).isEqualTo(Outcome.AT_LIMIT);
            long asked = shop.calls("seckill.try");
            assertThat(remembers.tryBuy("7", "alice", "a2")).isEqualTo(Outcome.SOLD_OUT);
            assertThat(shop.calls("seckill.try")).isEqualTo(asked);
            remembers.run(alter("7", SaleRules.none().end(Instant.ofEpochMilli(1))));
            assertThat(asks.tryBuy("7", "alice", "a3")).isEqualTo(Outcome.ENDED);
            assertThat(remembers.tryBuy("7", "alice", "a3")).isEqualTo(Outcome.SOLD_OUT);
        }
    }

    private static void sellOut(SeckillClient office, SaleRules rules) {
        office.run(create("7", 1, rules));
        assertThat(office.tryBuy("7", "first", "first")).isEqualTo(Outcome.ACCEPTED);
    }

    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void a_released_unit_is_on_sale_again_one_round_trip_after_the_answer(String program)
            throws Exception {
        List<Buyer> buyers = new ArrayList<>();
        try (SeckillServer server = Shop.start(program);
                Buyer office = new Buyer(server, SeckillOptions.defaults());
                var connection = office.lettuce.connect()) {
            RedisCommands<String, String> plain = connection.sync();
            sellOut(office.client, SaleRules.none());
            String bought = "first";
            for (int i = 0; i < CLIENTS; i++) {
                buyers.add(new Buyer(server, Shop.REMEMBER));
            }
            for (int round = 0; round < 4 * CLIENTS; round++) {
                for (Buyer buyer : buyers) {
                    buyer.awaitMemory();
                }
                // Its server would say that the user is at the limit.
                assertThat(buyers.get(0).client.tryBuy("7", bought, "again" + round))
                        .isEqualTo(Outcome.SOLD_OUT);
                // Each way of release returns when its answer is here.
                switch (round % 4) {
                    case 0 -> office.client.run(cancel(OrderRef.of("7", bought, bought)));
                    case 1 -> office.client.run(restock("7", 1));
                    case 2 -> plain.incr("seckill:stock:7");
                    default -> plain.set("seckill:stock:7", "1");
                }
                buyers.forEach(Buyer::roundTrip);

                // Every client asks the server now. Another one is the first each time.
                long refused = soldOut(plain);
                int fromMemory = buyers.stream().mapToInt(buyer -> buyer.remembered.get()).sum();
                List<Outcome> outcomes = new ArrayList<>();
                for (int i = 0; i < CLIENTS; i++) {
                    outcomes.add(buyers.get((round / 4 + i) % CLIENTS).buy());
                    bought = i == 0 ? "o" + ORDERS.get() : bought;
                }
                assertThat(outcomes).containsExactly(
                        Outcome.ACCEPTED, Outcome.SOLD_OUT, Outcome.SOLD_OUT, Outcome.SOLD_OUT);
                assertThat(soldOut(plain) - refused).isEqualTo(CLIENTS - 1);
                assertThat(buyers.stream().mapToInt(buyer -> buyer.remembered.get()).sum())
                        .isEqualTo(fromMemory);
            }
            // All connections die, and with them what was remembered.
            plain.clientKill(KillArgs.Builder.typeNormal().skipme());
            plain.incr("seckill:stock:7");
            buyers.get(0).awaitSold();
        } finally {
            buyers.forEach(Buyer::close);
        }
    }

    @ParameterizedTest
    @MethodSource("shop.Shop#servers")
    void a_hold_that_expires_is_on_sale_again(String program) throws Exception {
        try (SeckillServer server = Shop.start(program);
                Buyer buyer = new Buyer(server, Shop.REMEMBER)) {
            sellOut(buyer.client, SaleRules.none().hold(Duration.ofMillis(1_500)));
            buyer.awaitMemory();
            buyer.awaitSold();
        }
    }

    private static long soldOut(RedisCommands<String, String> plain) {
        Matcher field =
                Pattern.compile("seckill_tries_sold_out:(\\d+)").matcher(plain.info("seckill"));
        assertThat(field.find()).isTrue();
        return Long.parseLong(field.group(1));
    }

    /** Where nothing can be watched, nothing is remembered. */
    @Test
    @ExtendWith(OutputCaptureExtension.class)
    void without_resp3_every_try_goes_to_the_server(CapturedOutput output) throws Exception {
        try (SeckillServer server = Shop.start(SeckillServer.program());
                Buyer buyer = new Buyer(server, Shop.REMEMBER)) {
            buyer.lettuce.setOptions(
                    ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
            sellOut(buyer.client, SaleRules.none());
            for (int i = 0; i < 50; i++) {
                assertThat(buyer.buy()).isEqualTo(Outcome.SOLD_OUT);
            }
            assertThat(buyer.client.tryBuy("7", "first", "again")).isEqualTo(Outcome.AT_LIMIT);
            assertThat(buyer.remembered).hasValue(0);
            await("told").until(() -> output.toString().contains("Sold out is not remembered"));
            SeckillTransport another = LettuceTransport.of(buyer.lettuce);
            assertThatThrownBy(() -> SeckillClient.create(another, Shop.REMEMBER))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageStartingWith("rememberSoldOut needs RESP3");
        }
    }
}
