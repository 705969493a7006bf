package io.github.seckill.client;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.lettuce.core.KillArgs;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What a client says when no answer comes, and what is sold meanwhile. */
class TimeoutsTest {
    private static final SeckillOptions SHORT = SeckillOptions.defaults()
            .commandTimeout(Duration.ofMillis(100)).retryFor(Duration.ofSeconds(20));

    @AutoClose private final Shop shop = new Shop();
    private final RedisCommands<String, String> plain = shop.plain;

    /** A managed voucher of five. Made with more time than the client under test has. */
    private void openSale(SeckillClient client) throws Exception {
        try (SeckillClient patient = shop.client(SeckillOptions.defaults())) {
            patient.run(create("7", 5, SaleRules.none()));
        }
        awaitAnswer(client, "7");
    }

    /** The client is connected: nothing that is tested has to wait for that. */
    private static void awaitAnswer(SeckillClient client, String voucher) throws Exception {
        Until.holds("answered in time", () -> {
            try {
                client.run(info(voucher));
                return true;
            } catch (SeckillException.NotNow | SeckillException.NoAnswer slow) {
                return false;
            }
        });
    }

    /** Lets the frozen server go on once commands were sent again twice. */
    private void thawLater() {
        // What came before may have been repeated too, by a machine that is slow.
        shop.repeated.set(0);
        CompletableFuture.runAsync(() -> {
            try {
                Until.holds("sent again", () -> shop.repeated.get() > 1);
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            } finally {
                shop.server.thaw();
            }
        });
    }

    @Test
    void a_managed_try_is_repeated_and_sells_once() throws Exception {
        try (SeckillClient client = shop.client(SHORT)) {
            openSale(client);
            shop.server.freeze();
            thawLater();
            assertThat(client.tryBuy("7", "alice", "o1")).isEqualTo(Outcome.ACCEPTED);
            assertThat(plain.get("seckill:stock:7")).isEqualTo("4");
            assertThat(plain.xlen("stream.orders")).isEqualTo(1);
            assertThat(shop.repeated).hasValueGreaterThan(0);
        }
    }

    @Test
    void an_unmanaged_try_is_sent_once_and_unknown() throws Exception {
        plain.set("seckill:stock:8", "5");
        try (SeckillClient client = shop.client(SHORT)) {
            awaitAnswer(client, "8");
            shop.server.freeze();
            // Repeated is only the question whether the voucher is managed.
            thawLater();
            assertThat(client.tryBuy("8", "alice", "o1")).isEqualTo(Outcome.UNKNOWN);
            Until.holds("sold", () -> "4".equals(plain.get("seckill:stock:8")));
            // Whoever had sent it again would have been told: at the limit.
            assertThat(plain.info("commandstats"))
                    .contains("cmdstat_seckill.try:calls=1,").doesNotContain("rejected_calls=1");
        }
    }

    @Test
    void what_cannot_be_repeated_says_so() throws Exception {
        try (SeckillClient client = shop.client(SHORT.retryFor(Duration.ofMillis(400)))) {
            openSale(client);
            plain.set("bare", "5");
            shop.server.freeze();
            assertThatThrownBy(() -> client.run(restock("7", 1)))
                    .isInstanceOf(SeckillException.NoAnswer.class);
            assertThat(client.run(deduct("bare", 1))).isEqualTo(new Deduction.Unknown());
            assertThat(client.tryBuy("7", "alice")).isEqualTo(new Purchase.Unknown());
            assertThat(client.tryBuy("7", "alice", "o1")).isEqualTo(Outcome.UNKNOWN);
            assertThat(client.run(reserve("7", "alice", "o1")))
                    .isEqualTo(new Reservation.Unknown());
            assertThatThrownBy(() -> client.run(confirm(OrderRef.of("7", "alice", "o1"))))
                    .isInstanceOf(SeckillException.NoAnswer.class);
            shop.server.thaw();
        }
    }

    /** Lettuce writes again what had no answer when its connection was lost: not these. */
    @Test
    void a_lost_connection_repeats_nothing_that_must_not_be() throws Exception {
        plain.set("seckill:stock:8", "1000");
        plain.set("bare", "1000");
        SeckillOptions patient = SeckillOptions.defaults()
                .coalescing(Coalescing.OFF).commandTimeout(Duration.ofSeconds(15));
        try (SeckillClient client = shop.client(patient)) {
            for (int round = 0; round < 20; round++) {
                String name = "r" + round + "-";
                client.run(info("8"));
                long stock = Long.parseLong(plain.get("seckill:stock:8"));
                long bare = Long.parseLong(plain.get("bare"));
                List<CompletableFuture<Outcome>> tries = IntStream.range(0, 10)
                        .mapToObj(i -> name + i)
                        .map(user -> client.start(tryBuy("8", user, "o" + user))).toList();
                List<CompletableFuture<Deduction>> deductions = IntStream.range(0, 10)
                        .mapToObj(i -> client.start(deduct("bare", 1))).toList();
                plain.clientKill(KillArgs.Builder.typeNormal().skipme());
                int accepted = 0;
                int unknown = 0;
                for (CompletableFuture<Outcome> attempt : tries) {
                    switch (attempt.get(20, TimeUnit.SECONDS)) {
                        case ACCEPTED -> accepted++;
                        case UNKNOWN -> unknown++;
                        default -> throw new AssertionError(attempt.get());
                    }
                }
                int taken = 0;
                int open = 0;
                for (CompletableFuture<Deduction> deduction : deductions) {
                    Deduction is = deduction.get(20, TimeUnit.SECONDS);
                    taken += is instanceof Deduction.Taken ? 1 : 0;
                    open += is instanceof Deduction.Unknown ? 1 : 0;
                }
                long sold = stock - Long.parseLong(plain.get("seckill:stock:8"));
                assertThat(sold).isBetween((long) accepted, (long) accepted + unknown);
                assertThat(accepted + unknown).isEqualTo(10);
                long gone = bare - Long.parseLong(plain.get("bare"));
                assertThat(gone).isBetween((long) taken, (long) taken + open);
                assertThat(taken + open).isEqualTo(10);
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Coalescing.class)
    void a_killed_connection_sells_each_order_once(Coalescing coalescing) throws Exception {
        SeckillOptions options = SeckillOptions.defaults().coalescing(coalescing);
        try (SeckillClient client = shop.client(options)) {
            client.run(create("7", 100_000, SaleRules.none()));
            for (int round = 0; round < 10; round++) {
                String name = "r" + round + "-";
                List<CompletableFuture<Outcome>> tries = IntStream.range(0, 500)
                        .mapToObj(i -> name + i)
                        .map(user -> client.start(tryBuy("7", user, "o" + user))).toList();
                plain.clientKill(KillArgs.Builder.typeNormal().skipme());
                for (CompletableFuture<Outcome> attempt : tries) {
                    assertThat(attempt.get(20, TimeUnit.SECONDS)).isEqualTo(Outcome.ACCEPTED);
                }
            }
            assertThat(plain.get("seckill:stock:7")).isEqualTo("95000");
            assertThat(plain.xlen("stream.orders")).isEqualTo(5_000);
        }
    }

    @Test
    void without_a_server_nothing_is_unknown() {
        shop.server.kill();
        RedisClient late = RedisClient.create(shop.server.uri());
        SeckillOptions options = SHORT.retryFor(Duration.ofMillis(200));
        try (late;
                SeckillClient client = SeckillClient.create(LettuceTransport.of(late), options)) {
            assertThatThrownBy(() -> client.tryBuy("8", "alice", "o1"))
                    .isInstanceOfSatisfying(
                            SeckillException.NotNow.class,
                            notNow -> assertThat(notNow.word()).isEqualTo("NOCONNECTION"));
        }
    }

    /** What waits for a connection and is given up was not sent, and is not sent later either. */
    @Test
    void while_the_connection_is_lost_nothing_is_unknown() throws Exception {
        plain.set("seckill:stock:8", "5");
        SeckillOptions once = SeckillOptions.defaults().retryFor(Duration.ZERO);
        try (SeckillClient client = shop.client(once)) {
            assertThat(client.tryBuy("8", "alice", "o1")).isEqualTo(Outcome.ACCEPTED);
            shop.server.kill();
            Until.holds("not sent", () -> {
                try {
                    assertThat(client.tryBuy("8", "bob", "o2")).isEqualTo(Outcome.UNKNOWN);
                    return false;
                } catch (SeckillException.NotNow notSent) {
                    return notSent.word().equals("NOCONNECTION");
                }
            });
        }
    }
}
