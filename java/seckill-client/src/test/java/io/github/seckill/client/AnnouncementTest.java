package io.github.seckill.client;

import static io.github.seckill.client.Commands.cancel;
import static io.github.seckill.client.Commands.create;
import static io.github.seckill.client.Commands.restock;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * The server writes the announcement of a change to every watching connection before it answers who
 * has made the change. So what is asked on such a connection after that answer is answered behind
 * the announcement. Nothing here waits for a time.
 */
class AnnouncementTest {
    private static final int CLIENTS = 4;

    static Stream<String> servers() {
        return Servers.all();
    }

    /** Lettuce, and whoever else wants to ask on the connection that watches. */
    private static final class Overheard implements SeckillTransport {
        private final LettuceTransport transport;
        private @Nullable StockWatch watch;

        Overheard(RedisClient lettuce) {
            transport = LettuceTransport.of(lettuce);
        }

        @Override
        public CompletionStage<@Nullable Object> send(Request command, Duration timeout) {
            return transport.send(command, timeout);
        }

        @Override
        public LockConnection openLockConnection(String key, Duration timeout)
                throws InterruptedException {
            return transport.openLockConnection(key, timeout);
        }

        @Override
        public boolean isCluster() {
            return transport.isCluster();
        }

        @Override
        public StockWatch watchStocks(StockListener listener) {
            StockWatch made = transport.watchStocks(listener);
            watch = made;
            return made;
        }

        StockWatch watch() {
            if (watch == null) {
                throw new AssertionError("nothing is watched");
            }
            return watch;
        }

        @Override
        public void close() {
            transport.close();
        }
    }

    /** A client that remembers for an hour, and whose watching connection can be asked. */
    private static final class Buyer implements AutoCloseable, SeckillObserver {
        private final RedisClient lettuce;
        private final Overheard transport;
        private final SeckillClient client;
        private final AtomicInteger remembered = new AtomicInteger();

        Buyer(SeckillServer server) {
            lettuce = RedisClient.create(server.uri());
            transport = new Overheard(lettuce);
            SeckillOptions options =
                    SeckillOptions.defaults()
                            .rememberSoldOut(true)
                            .soldOutFor(Duration.ofHours(1));
            client = new SeckillClient(transport, options, this);
        }

        @Override
        public void rememberedSoldOut() {
            remembered.incrementAndGet();
        }

        /** Asks the server something else on the connection that watches, and has the answer. */
        void roundTrip() {
            transport.watch().watch("seckill:stock:other").toCompletableFuture().join();
        }

        void awaitMemory(AtomicInteger orders) throws Exception {
            Until.holds(
                    "remembered",
                    () -> {
                        int before = remembered.get();
                        assertThat(buy("o" + orders.incrementAndGet()))
                                .isEqualTo(Outcome.SOLD_OUT);
                        return remembered.get() > before;
                    });
        }

        Outcome buy(String order) {
            return client.tryBuy("7", order, order);
        }

        @Override
        public void close() {
            client.close();
            lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void a_released_unit_is_on_sale_again_one_round_trip_after_the_answer(String program)
            throws Exception {
        List<Buyer> buyers = new ArrayList<>();
        AtomicInteger orders = new AtomicInteger();
        try (SeckillServer server = Servers.start(program);
                RedisClient lettuce = RedisClient.create(server.uri());
                var connection = lettuce.connect();
                SeckillClient office = SeckillClient.create(LettuceTransport.of(lettuce))) {
            RedisCommands<String, String> plain = connection.sync();
            office.run(create("7", 1, SaleRules.none()));
            String bought = "first";
            assertThat(office.tryBuy("7", bought, bought)).isEqualTo(Outcome.ACCEPTED);
            for (int i = 0; i < CLIENTS; i++) {
                buyers.add(new Buyer(server));
            }
            for (int round = 0; round < 4 * CLIENTS; round++) {
                for (Buyer buyer : buyers) {
                    buyer.awaitMemory(orders);
                }
                // Each way of release returns when its answer is here.
                switch (round % 4) {
                    case 0 -> office.run(cancel(OrderRef.of("7", bought, bought)));
                    case 1 -> office.run(restock("7", 1));
                    case 2 -> plain.incr("seckill:stock:7");
                    default -> plain.set("seckill:stock:7", "1");
                }
                buyers.forEach(Buyer::roundTrip);

                // Every client asks the server now. Another one is the first each time.
                long refused = soldOut(plain);
                int fromMemory = fromMemory(buyers);
                List<Outcome> outcomes = new ArrayList<>();
                for (int i = 0; i < CLIENTS; i++) {
                    String order = "o" + orders.incrementAndGet();
                    outcomes.add(buyers.get((round / 4 + i) % CLIENTS).buy(order));
                    bought = i == 0 ? order : bought;
                }
                assertThat(outcomes)
                        .containsExactly(
                                Outcome.ACCEPTED,
                                Outcome.SOLD_OUT,
                                Outcome.SOLD_OUT,
                                Outcome.SOLD_OUT);
                assertThat(soldOut(plain) - refused).isEqualTo(CLIENTS - 1);
                assertThat(fromMemory(buyers)).isEqualTo(fromMemory);
            }
        } finally {
            buyers.forEach(Buyer::close);
        }
    }

    private static int fromMemory(List<Buyer> buyers) {
        return buyers.stream().mapToInt(buyer -> buyer.remembered.get()).sum();
    }

    private static long soldOut(RedisCommands<String, String> plain) {
        Matcher field =
                Pattern.compile("seckill_tries_sold_out:(\\d+)").matcher(plain.info("seckill"));
        assertThat(field.find()).isTrue();
        return Long.parseLong(field.group(1));
    }
}
