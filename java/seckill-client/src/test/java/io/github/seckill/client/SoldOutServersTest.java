package io.github.seckill.client;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Sold out is remembered in the clients, and forgotten when the server says so. */
class SoldOutServersTest {
    private static final int CLIENTS = 4;

    /** So long that nothing here ends by the time alone. */
    private static final SeckillOptions REMEMBER =
            SeckillOptions.defaults().rememberSoldOut(true).soldOutFor(Duration.ofHours(1));

    static Stream<String> servers() {
        return Servers.all();
    }

    /** A client whose threads buy all the time, each try under a new order id. */
    private static final class Shop implements AutoCloseable, SeckillObserver {
        private final RedisClient lettuce;
        private final SeckillClient client;
        private final String name;
        private final AtomicInteger remembered = new AtomicInteger();
        private final AtomicLong orders = new AtomicLong();
        private final AtomicBoolean over = new AtomicBoolean();
        private final List<Thread> threads = new ArrayList<>();
        private final List<String> accepted = new ArrayList<>();
        private final CompletableFuture<Void> failed = new CompletableFuture<>();

        Shop(SeckillServer server, String name, SeckillOptions options) {
            this.name = name;
            lettuce = RedisClient.create(server.uri());
            client = new SeckillClient(LettuceTransport.of(lettuce), options, this);
        }

        @Override
        public void rememberedSoldOut() {
            remembered.incrementAndGet();
        }

        void open(int count) {
            for (int i = 0; i < count; i++) {
                Thread thread = new Thread(this::buy);
                threads.add(thread);
                thread.start();
            }
        }

        private void buy() {
            try {
                while (!over.get()) {
                    String order = name + orders.incrementAndGet();
                    if (client.tryBuy("7", order, order).isAccepted()) {
                        synchronized (accepted) {
                            accepted.add(order);
                        }
                    }
                    // Not as fast as a machine can: other threads here are the ones that matter.
                    Thread.sleep(1);
                }
            } catch (InterruptedException | RuntimeException problem) {
                failed.completeExceptionally(problem);
            }
        }

        void awaitMemory() throws Exception {
            int before = remembered.get();
            Until.holds("remembered by " + name, () -> remembered.get() > before + 5);
        }

        void stop() throws InterruptedException {
            over.set(true);
            for (Thread thread : threads) {
                thread.join();
            }
            assertThat(failed).isNotCompletedExceptionally();
        }

        @Override
        public void close() {
            over.set(true);
            client.close();
            lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
        }
    }

    private static int accepted(List<Shop> shops) {
        int all = 0;
        for (Shop shop : shops) {
            synchronized (shop.accepted) {
                all += shop.accepted.size();
            }
        }
        return all;
    }

    @ParameterizedTest
    @MethodSource("servers")
    void a_released_unit_is_on_sale_again_in_every_client(String program) throws Exception {
        List<Shop> shops = new ArrayList<>();
        try (SeckillServer server = Servers.start(program);
                Shop office = new Shop(server, "office", SeckillOptions.defaults());
                StatefulRedisConnection<String, String> plain = office.lettuce.connect()) {
            office.client.run(create("7", 1, SaleRules.none()));
            office.client.tryBuy("7", "first", "first");
            for (int i = 0; i < CLIENTS; i++) {
                Shop shop = new Shop(server, "shop" + i + "-", REMEMBER);
                shops.add(shop);
                shop.open(2);
            }
            // A unit that is released, each time in another way, is bought by somebody.
            List<Runnable> ways =
                    List.of(
                            () -> office.client.run(cancel(OrderRef.of("7", "first", "first"))),
                            () -> office.client.run(restock("7", 1)),
                            () -> plain.sync().incr("seckill:stock:7"),
                            () -> plain.sync().set("seckill:stock:7", "1"));
            int sold = 0;
            for (Runnable way : ways) {
                for (Shop shop : shops) {
                    shop.awaitMemory();
                }
                way.run();
                sold++;
                int wanted = sold;
                Until.holds("sold again: " + wanted, () -> accepted(shops) == wanted);
            }
            // All connections die, and with them what was remembered.
            for (Shop shop : shops) {
                shop.awaitMemory();
            }
            plain.sync().clientKill(KillArgs.Builder.typeNormal().skipme());
            plain.sync().incr("seckill:stock:7");
            int wanted = sold + 1;
            Until.holds("sold after the connections died", () -> accepted(shops) == wanted);
            for (Shop shop : shops) {
                shop.awaitMemory();
                shop.stop();
            }
            assertThat(accepted(shops)).isEqualTo(wanted);
        } finally {
            shops.forEach(Shop::close);
        }
    }

    @ParameterizedTest
    @MethodSource("servers")
    void a_hold_that_expires_is_on_sale_again(String program) throws Exception {
        try (SeckillServer server = Servers.start(program);
                Shop shop = new Shop(server, "shop", REMEMBER)) {
            shop.client.run(create("7", 1, SaleRules.none().hold(Duration.ofMillis(1_500))));
            shop.client.tryBuy("7", "first", "first");
            shop.open(1);
            shop.awaitMemory();
            Until.holds("expired and sold again", () -> accepted(List.of(shop)) == 1);
            shop.stop();
        }
    }

    @Test
    void the_server_is_spared_fifty_times() throws Exception {
        int tries = 20_000;
        try (SeckillServer server = Servers.start()) {
            long without = callsOf(server, SeckillOptions.defaults(), tries);
            long with =
                    callsOf(server, SeckillOptions.defaults().rememberSoldOut(true), tries);
            assertThat(without).isEqualTo(tries);
            assertThat(with).isLessThan(without / 50);
        }
    }

    /** How many tries reach the server. */
    private static long callsOf(SeckillServer server, SeckillOptions options, int tries)
            throws Exception {
        try (Shop shop = new Shop(server, "shop", options);
                StatefulRedisConnection<String, String> plain = shop.lettuce.connect()) {
            plain.sync().flushall();
            shop.client.run(create("7", 1, SaleRules.none()));
            shop.client.tryBuy("7", "first", "first");
            if (options.values.rememberSoldOut) {
                Until.holds(
                        "remembered",
                        () ->
                                shop.client.tryBuy("7", "second", "second") == Outcome.SOLD_OUT
                                        && shop.remembered.get() > 0);
            }
            long before = soldOut(plain);
            List<Thread> threads = new ArrayList<>();
            for (int t = 0; t < 20; t++) {
                int thread = t;
                threads.add(
                        new Thread(
                                () -> {
                                    for (int i = 0; i < tries / 20; i++) {
                                        String order = thread + "-" + i;
                                        shop.client.tryBuy("7", order, order);
                                    }
                                }));
            }
            threads.forEach(Thread::start);
            for (Thread thread : threads) {
                thread.join();
            }
            return soldOut(plain) - before;
        }
    }

    private static long soldOut(StatefulRedisConnection<String, String> plain) {
        Matcher field =
                Pattern.compile("seckill_tries_sold_out:(\\d+)")
                        .matcher(plain.sync().info("seckill"));
        assertThat(field.find()).isTrue();
        return Long.parseLong(field.group(1));
    }

    @Test
    void a_failover_ends_what_was_remembered() throws Exception {
        try (SeckillServer primary = Servers.start();
                SeckillServer replica =
                        Servers.start(
                                SeckillServer.program(),
                                "--replicaof", primary.host(), String.valueOf(primary.port()),
                                "--repl-diskless-sync-delay", "0");
                Shop office = new Shop(replica, "office", SeckillOptions.defaults());
                StatefulRedisConnection<String, String> plain = office.lettuce.connect();
                Shop shop = new Shop(primary, "shop", REMEMBER)) {
            shop.client.run(create("7", 1, SaleRules.none()));
            shop.client.tryBuy("7", "first", "first");
            shop.open(1);
            shop.awaitMemory();
            Until.holds(
                    "replicated", () -> "0".equals(plain.sync().get("seckill:stock:7")));
            shop.stop();
            // The server is gone: what is remembered goes with its connection.
            primary.kill();
            Until.holds(
                    "not answered from memory",
                    () -> {
                        int before = shop.remembered.get();
                        var attempt = shop.client.start(tryBuy("7", "x", "x"));
                        return shop.remembered.get() == before
                                && !attempt.toCompletableFuture().isDone();
                    });
        }
    }

    /** Where nothing can be watched, nothing is remembered. */
    @Test
    void without_resp3_every_try_goes_to_the_server() throws Exception {
        try (SeckillServer server = Servers.start();
                RedisClient old = RedisClient.create(server.uri())) {
            old.setOptions(ClientOptions.builder().protocolVersion(ProtocolVersion.RESP2).build());
            AtomicInteger remembered = new AtomicInteger();
            SeckillObserver observer =
                    new SeckillObserver() {
                        @Override
                        public void rememberedSoldOut() {
                            remembered.incrementAndGet();
                        }
                    };
            try (SeckillClient client =
                    new SeckillClient(LettuceTransport.of(old), REMEMBER, observer)) {
                client.run(create("7", 1, SaleRules.none()));
                for (int i = 0; i < 50; i++) {
                    client.tryBuy("7", "u" + i, "o" + i);
                }
                assertThat(remembered).hasValue(0);
            }
        }
    }
}
