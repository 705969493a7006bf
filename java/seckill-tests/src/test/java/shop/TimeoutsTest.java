package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.*;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;

/** What a client says when no answer comes, and what is sold meanwhile. */
class TimeoutsTest {
    private static final SeckillOptions SHORT = SeckillOptions.defaults()
            .commandTimeout(Duration.ofMillis(100)).retryFor(Duration.ofMinutes(1));

    @AutoClose private final Shop shop = new Shop();
    private final RedisCommands<String, String> plain = shop.plain;

    /** Lets the frozen server go on once commands were sent again twice. */
    private void thawLater() {
        // What came before may have been repeated too, by a machine that is slow.
        long before = shop.repeated();
        CompletableFuture.runAsync(() -> {
            try {
                await("sent again").until(() -> shop.repeated() > before + 1);
            } catch (Exception failed) {
                throw new IllegalStateException(failed);
            } finally {
                shop.server.thaw();
            }
        });
    }

    @Test
    void a_managed_try_is_repeated_and_sells_once() throws Exception {
        SeckillClient client = shop.selling(SHORT, 5);
        shop.server.freeze();
        thawLater();
        assertThat(client.tryBuy("7", "alice", "o1").outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(plain.get("seckill:stock:7")).isEqualTo("4");
        assertThat(plain.xlen("stream.orders")).isEqualTo(1);
        assertThat(shop.repeated()).isPositive();
    }

    @Test
    void an_unmanaged_try_is_sent_once_and_unknown() throws Exception {
        plain.set("seckill:stock:8", "5");
        SeckillClient client = shop.client(SHORT);
        Shop.awaitAnswer(client, "8");
        shop.server.freeze();
        // Repeated is only the question whether the voucher is managed.
        thawLater();
        assertThat(client.tryBuy("8", "alice", "o1").outcome()).isEqualTo(Outcome.UNKNOWN);
        await("sold").until(() -> "4".equals(plain.get("seckill:stock:8")));
        // Whoever had sent it again would have been told: at the limit.
        assertThat(plain.info("commandstats"))
                .contains("cmdstat_seckill.try:calls=1,").doesNotContain("rejected_calls=1");
    }

    @Test
    void what_cannot_be_repeated_says_so() throws Exception {
        SeckillClient client = shop.selling(SHORT.retryFor(Duration.ofMillis(400)), 5);
        plain.set("bare", "5");
        shop.server.freeze();
        assertThatThrownBy(() -> client.restock("7", 1))
                .isInstanceOf(SeckillException.NoAnswer.class);
        Until.fails(() -> client.deduct("bare", 1), Code.NOANSWER);
        assertThat(client.tryBuy("7", "alice", "o1").outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThat(client.reserve("7", "alice", "o1").outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThatThrownBy(() -> client.confirm(OrderRef.of("7", "alice", "o1")))
                .isInstanceOf(SeckillException.NoAnswer.class);
        shop.server.thaw();
    }

    /** Lettuce writes again what had no answer when its connection was lost: not these. */
    @Test
    void a_lost_connection_repeats_nothing_that_must_not_be() {
        plain.set("seckill:stock:8", "1000");
        plain.set("bare", "1000");
        SeckillClient client = shop.client(Shop.PATIENT.coalescing(false));
        for (int round = 0; round < 20; round++) {
            client.info("8");
            long stock = Long.parseLong(plain.get("seckill:stock:8"));
            long bare = Long.parseLong(plain.get("bare"));
            List<CompletableFuture<Purchase>> tries = startTries(client, "8", round, 10);
            List<CompletableFuture<Long>> deductions = IntStream.range(0, 10)
                    .mapToObj(i -> client.start(deduct("bare", 1))).toList();
            plain.clientKill(KillArgs.Builder.typeNormal().skipme());
            List<Outcome> outcomes = answers(tries).stream().map(Purchase::outcome).toList();
            assertThat(outcomes).isSubsetOf(Outcome.ACCEPTED, Outcome.UNKNOWN);
            long accepted = Collections.frequency(outcomes, Outcome.ACCEPTED);
            assertThat(stock - Long.parseLong(plain.get("seckill:stock:8")))
                    .isBetween(accepted, 10L);
            long taken = deductions.stream().filter(one ->
                    one.handle((before, failed) -> before != null).join()).count();
            assertThat(bare - Long.parseLong(plain.get("bare"))).isBetween(taken, 10L);
        }
    }

    /** So many tries that are under way at once. */
    private static List<CompletableFuture<Purchase>> startTries(
            SeckillClient client, String voucher, int round, int count) {
        return IntStream.range(0, count).mapToObj(i -> "r" + round + "-" + i)
                .map(user -> client.start(tryBuy(voucher, user, "o" + user))).toList();
    }

    private static <T> List<T> answers(List<CompletableFuture<T>> sent) {
        return sent.stream().map(one -> one.orTimeout(60, TimeUnit.SECONDS).join()).toList();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_killed_connection_sells_each_order_once(boolean coalescing) {
        SeckillClient client = shop.client(Shop.PATIENT.coalescing(coalescing));
        client.create("7", 100_000, SaleRules.none());
        for (int round = 0; round < 10; round++) {
            List<CompletableFuture<Purchase>> tries = startTries(client, "7", round, 500);
            plain.clientKill(KillArgs.Builder.typeNormal().skipme());
            assertThat(answers(tries)).allMatch(Purchase::isAccepted);
        }
        assertThat(plain.get("seckill:stock:7")).isEqualTo("95000");
        assertThat(plain.xlen("stream.orders")).isEqualTo(5_000);
    }

    @ParameterizedTest
    @CsvSource({"true, Connection refused", "false, it took too long"})
    void without_a_connection_nothing_was_sent_and_it_says_why(boolean dead, String why) {
        if (dead) {
            shop.server.kill();
        } else {
            shop.server.freeze();
        }
        RedisClient late = RedisClient.create(shop.server.uri());
        SeckillOptions options = SHORT.retryFor(Duration.ofMillis(200))
                .commandTimeout(Duration.ofMillis(dead ? 60_000 : 100));
        try (late;
                SeckillClient client = SeckillClient.create(late, options)) {
            assertThatThrownBy(() -> client.tryBuy("8", "alice", "o1"))
                    .isInstanceOf(SeckillException.NotNow.class)
                    .hasFieldOrPropertyWithValue("word", "NOCONNECTION")
                    .hasMessageEndingWith(why);
        }
    }

    /** Another connection is tried beside the silent one, once in the time of a command at most. */
    @Test
    void however_many_time_out_a_frozen_server_is_not_stormed_with_connections() throws Exception {
        SeckillClient client = shop.selling(SHORT.coalescing(false).retryFor(Duration.ZERO), 5);
        long open = shop.connections();
        long before = connectionsReceived();
        long began = System.nanoTime();
        shop.server.freeze();
        for (int round = 0; round < 10; round++) {
            Shop.ended(startTries(client, "7", round, 100));
        }
        shop.server.thaw();
        long turns = 1 + Duration.ofNanos(System.nanoTime() - began).toMillis() / 100;
        Shop.awaitAnswer(client, "7");
        await("all but one are closed").until(() -> shop.connections() == open);
        assertThat(connectionsReceived() - before).isBetween(1L, turns);
    }

    private long connectionsReceived() {
        return Long.parseLong(
                plain.info("stats").replaceAll("(?s).*total_connections_received:(\\d+).*", "$1"));
    }

    /** Lettuce closes a connection that takes longer to open than the application's commands. */
    @Test
    void a_connection_opens_however_short_the_time_out_of_the_application_is() throws Exception {
        plain.set("seckill:stock:8", "5");
        shop.uri.setTimeout(Duration.ZERO);
        SeckillClient client = shop.client(Shop.PATIENT.retryFor(Duration.ZERO));
        shop.server.freeze();
        CompletableFuture<Purchase> bought = client.start(tryBuy("8", "alice", "o1"));
        CompletableFuture<Boolean> locked = Shop.on(() -> client.lock("lock:a").tryLock());
        Thread.sleep(500);
        shop.server.thaw();
        assertThat(bought.join().outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(locked.join()).isTrue();
    }

    /** A client that is asked for its servers by two at once has one of them, as they take long. */
    @Test
    void a_lock_beside_the_first_try_takes_no_connection_from_it() throws Exception {
        plain.set("seckill:stock:8", "5");
        CountDownLatch two = new CountDownLatch(2);
        SeckillOptions once = Shop.PATIENT.retryFor(Duration.ZERO).uri(shop.uri);
        try (SeckillClient client = new SeckillClient(() -> {
            boolean second = two.getCount() == 1;
            two.countDown();
            try {
                two.await(1, TimeUnit.SECONDS);
                Thread.sleep(second ? 200 : 0);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
            return shop.lettuce;
        }, once)) {
            shop.server.freeze();
            CompletableFuture<Purchase> bought = Shop.on(() -> client.tryBuy("8", "alice", "o1"));
            await("asked").until(() -> two.getCount() == 1);
            CompletableFuture<Boolean> locked = Shop.on(() -> client.lock("lock:a").tryLock());
            Thread.sleep(1_500);
            shop.server.thaw();
            assertThat(bought.join().outcome()).isEqualTo(Outcome.ACCEPTED);
            assertThat(locked.join()).isTrue();
        }
    }

    /** What waits for a connection and is given up was not sent, and is not sent later either. */
    @Test
    void while_the_connection_is_lost_nothing_is_unknown() throws Exception {
        plain.set("seckill:stock:8", "5");
        SeckillClient client = shop.client(SeckillOptions.defaults().retryFor(Duration.ZERO));
        Shop.awaitAnswer(client, "8");
        shop.server.kill();
        await("not sent").until(() -> {
            try {
                assertThat(client.tryBuy("8", "bob", "o2").outcome()).isEqualTo(Outcome.UNKNOWN);
                return false;
            } catch (SeckillException.NotNow notSent) {
                return notSent.word().equals("NOCONNECTION");
            }
        });
        CompletableFuture<Purchase> buffered = client.start(tryBuy("8", "carol", "o3"));
        client.close();
        Until.fails(buffered, Code.NOTNOW);
    }
}
