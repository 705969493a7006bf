package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.Cancellation.Release;
import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.*;

/** What is sent again, and what is said in the end, when answers are lost on their way. */
class RepetitionTest {
    private static final String READONLY = "-READONLY You can't write against a read only replica";
    private static final String OOM = "-OOM command not allowed when used memory > 'maxmemory'";

    @AutoClose private final Shop shop = new Shop();
    @AutoClose private final Proxy proxy = new Proxy(shop.server);
    @AutoClose private final RedisClient lettuce = RedisClient.create(proxy.uri());
    @AutoClose private final SeckillClient client = client(Duration.ofMinutes(1));

    RepetitionTest() throws Exception {
        shop.selling(Shop.PATIENT, 9);
        shop.plain.set("seckill:stock:8", "9");
    }

    private SeckillClient client(Duration retryFor) {
        return SeckillClient.create(lettuce, Shop.PATIENT.coalescing(false).retryFor(retryFor));
    }

    private CompletableFuture<Purchase> buy(String voucher) {
        return client.start(tryBuy(voucher, "alice", "o1"));
    }

    /** The first command of a name is answered so, the next one so; then the server answers. */
    private void answers(String name, String... answers) {
        Queue<String> left = new ConcurrentLinkedQueue<>(List.of(answers));
        proxy.rule = command -> command.get(0).equals(name) ? left.poll() : null;
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY",
        "NOREPLICAS", "BUSY"
    })
    void what_was_refused_for_the_moment_is_sent_again_also_if_unmanaged(String word) {
        answers("SECKILL.TRY", "-" + word + " and why", "-" + word + " and why");
        try (SeckillClient impatient = client(Duration.ZERO)) {
            // It was never done, and is thrown as such.
            assertThatThrownBy(() -> impatient.tryBuy("8", "alice", "o1"))
                    .isInstanceOf(SeckillException.NotNow.class)
                    .hasFieldOrPropertyWithValue("word", word);
        }
        assertThat(buy("8").join().outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(proxy.seen.get(2)).isEqualTo(proxy.seen.get(1));
    }

    @Test
    void a_refusal_of_the_repetition_does_not_say_that_the_first_was_not_done() {
        answers("SECKILL.TRY", Proxy.LOSE, OOM, READONLY);
        assertThat(buy("7").join().outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(proxy.count("SECKILL.TRY")).isEqualTo(4);
        assertThat(shop.plain.get("seckill:stock:7")).isEqualTo("8");
    }

    @Test
    void after_an_unanswered_one_the_end_is_unknown_whatever_came_last() {
        try (SeckillClient impatient = client(Duration.ofSeconds(3))) {
            proxy.rule = command -> !command.get(0).equals("SECKILL.TRY") ? null
                    : proxy.count("SECKILL.TRY") == 1 ? Proxy.LOSE : READONLY;
            assertThat(impatient.tryBuy("7", "alice", "o1").outcome()).isEqualTo(Outcome.UNKNOWN);
        }
        assertThat(proxy.count("SECKILL.TRY")).isGreaterThan(2);
    }

    /** Of several commands the first was done: nobody is told that nothing was. */
    @Test
    void after_the_first_step_a_refusal_does_not_say_that_nothing_was_done() {
        try (SeckillClient impatient = client(Duration.ZERO)) {
            answers("SECKILL.ORDER", "-LOADING and why");
            assertThat(impatient.reserve("7", "alice", "o1").outcome()).isEqualTo(Outcome.UNKNOWN);
            assertThat(impatient.order("7", "o1")).isPresent();
            answers("SECKILL.DROP", ":2", "-BUSY and why");
            Until.fails(() -> impatient.releaseAndDrop("7"), Code.NOANSWER);
            answers("SECKILL.TRY", "-LOADING and why");
            Until.fails(() -> impatient.reserve("7", "bob", "o2"), Code.NOTNOW);
        }
    }

    @Test
    void a_mistake_ends_the_repetitions() {
        answers("SECKILL.TRY", Proxy.LOSE, "-NOVOUCHER no stock key for this voucher");
        Until.fails(buy("7"), Code.NOVOUCHER);
        assertThat(proxy.count("SECKILL.TRY")).isEqualTo(2);
    }

    @Test
    void tries_without_an_answer_share_the_question_whether_the_voucher_is_managed() {
        CountDownLatch both = new CountDownLatch(1);
        proxy.rule = command -> {
            if (command.get(0).equals("SECKILL.INFO")) {
                Thread.sleep(300);
                return null;
            }
            both.await();
            return Proxy.LOSE;
        };
        CompletableFuture<Purchase> first = buy("8");
        CompletableFuture<Purchase> second = buy("8");
        await("sent").until(() -> proxy.seen.size() == 1);
        both.countDown();
        assertThat(first.join().outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThat(second.join().outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThat(proxy.count("SECKILL.INFO")).isEqualTo(1);
        assertThat(proxy.count("SECKILL.TRY")).isEqualTo(1);
    }

    @Test
    void a_cancellation_is_repeated_only_if_the_voucher_is_managed() {
        buy("7").join();
        buy("8").join();
        answers("SECKILL.CANCEL", Proxy.LOSE, Proxy.LOSE);
        Until.fails(client.start(cancel(OrderRef.of("8", "alice", "o1"))), Code.NOANSWER);
        assertThat(proxy.count("SECKILL.CANCEL")).isEqualTo(1);
        assertThat(proxy.count("SECKILL.INFO")).isEqualTo(1);
        assertThat(client.cancel(OrderRef.of("7", "alice", "o1")))
                .isEqualTo(Cancellation.ALREADY_RELEASED);
        assertThat(proxy.count("SECKILL.CANCEL")).isEqualTo(3);
    }

    static List<SeckillCommand<?>> repeatable() {
        OrderRef order = OrderRef.of("7", "alice", "o1");
        return List.of(
                restockTo("7", 9), restockTo("7", 9).inSale(5), cancelAllBut(order, 2),
                cancel(order.inSale(5)), confirm(order, "pay-1"),
                confirm(order, "pay-1", 2), cancel(order, Release.NORESTOCK),
                cancelAllBut(order, 2, Release.REFUNDED), drop("7").inSale(5),
                releaseAndDrop("7").inSale(5), tryBuy("7", "alice", "o1").inSale(5),
                tryBuy("7", "alice", "o1").inSale(5).waitlist());
    }

    @ParameterizedTest
    @MethodSource("repeatable")
    void what_may_be_repeated_is_sent_again_without_a_question(SeckillCommand<?> command) {
        answers(command.name(), Proxy.DROP, ":1");
        client.start(command).join();
        assertThat(proxy.seen).hasSize(2);
        assertThat(proxy.seen.get(1)).isEqualTo(proxy.seen.get(0));
    }

    @Test
    void a_cart_is_sent_again_the_same() {
        shop.client(Shop.PATIENT).create("6", 9, SaleRules.none().hold(Duration.ofMinutes(15)));
        Map<String, Long> cart = new LinkedHashMap<>(Map.of("7", 1L));
        cart.put("6", 1L);
        answers("SECKILL.TRYALL", Proxy.LOSE);
        assertThat(client.tryAll("alice", "o1", cart).values()).containsOnly(Outcome.ACCEPTED);
        assertThat(proxy.seen).hasSize(2).containsOnly(
                List.of("SECKILL.TRYALL", "7", "1", "6", "1", "alice", "o1"));
        assertThat(shop.plain.get("seckill:stock:6")).isEqualTo("8");
        try (SeckillClient impatient = client(Duration.ZERO)) {
            proxy.rule = command -> Proxy.DROP;
            assertThat(impatient.tryAll("alice", "o2", cart).values())
                    .containsOnly(Outcome.UNKNOWN);
        }
    }

    static List<SeckillCommand<?>> onlyOnce() {
        return List.of(restock("7", 9), restock("7", 9).inSale(5), drop("7"), releaseAndDrop("7"));
    }

    @ParameterizedTest
    @MethodSource("onlyOnce")
    void what_would_be_done_twice_is_sent_once(SeckillCommand<?> command) {
        answers(command.name(), Proxy.DROP);
        Until.fails(client.start(command), Code.NOANSWER);
        assertThat(proxy.seen).hasSize(1);
    }
}
