package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.*;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.lettuce.core.RedisClient;
import io.micrometer.observation.ObservationRegistry;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import reactor.core.publisher.Mono;

/** Which tries travel together, and what becomes of each. */
class CoalescingTest {
    @AutoClose private final Shop shop = new Shop();
    @AutoClose private final Proxy proxy = new Proxy(shop.server);
    @AutoClose private final RedisClient lettuce = RedisClient.create(proxy.uri());
    @AutoClose private SeckillClient client = SeckillClient.create(lettuce, Shop.PATIENT);
    private final CountDownLatch first = new CountDownLatch(1);

    CoalescingTest() throws Exception {
        shop.selling(Shop.PATIENT, 4);
        // What comes first is answered when the test says so, and what comes meanwhile, waits.
        proxy.rule = command -> {
            first.await();
            return null;
        };
    }

    private CompletableFuture<Purchase> buy(String user) {
        return client.start(tryBuy("7", user, "o-" + user));
    }

    private List<CompletableFuture<Purchase>> buyAll(int count) {
        return IntStream.range(0, count).mapToObj(i -> buy("u" + i)).toList();
    }

    private static List<Outcome> outcomes(List<CompletableFuture<Purchase>> tries) {
        return tries.stream().map(one -> one.join().outcome()).toList();
    }

    private String name(int index) {
        return proxy.seen.get(index).get(0);
    }

    @Test
    void the_first_goes_alone_and_the_rest_together_in_the_order_of_arrival() {
        List<CompletableFuture<Purchase>> tries = buyAll(6);
        first.countDown();
        assertThat(outcomes(tries).subList(0, 4)).containsOnly(Outcome.ACCEPTED);
        assertThat(outcomes(tries).subList(4, 6)).containsOnly(Outcome.SOLD_OUT);
        assertThat(name(0)).isEqualTo("SECKILL.TRY");
        assertThat(name(1)).isEqualTo("SECKILL.MTRY");
        assertThat(proxy.arguments(1)).containsExactly(
                "u1", "o-u1", "u2", "o-u2", "u3", "o-u3", "u4", "o-u4", "u5", "o-u5");
        assertThat(client.tryCommands()).isEqualTo(2);
        buy("late").join();
        assertThat(name(2)).isEqualTo("SECKILL.TRY");
    }

    @Test
    void what_goes_alone_waits_for_nobody_nor_do_other_vouchers() {
        List<CompletableFuture<Purchase>> tries = new ArrayList<>(buyAll(3));
        shop.plain.set("seckill:stock:8", "1");
        CompletableFuture<Purchase> other = client.start(tryBuy("8", "u0", "o1"));
        tries.add(client.start(tryBuy("7", "u3", "o3").inSale(5)));
        tries.add(client.start(tryBuy("7", "u4", "o4").waitlist()));
        first.countDown();
        assertThat(other.join().orderId()).isEqualTo("o1");
        assertThat(outcomes(tries)).containsExactly(
                Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.ENDED,
                Outcome.ACCEPTED);
        assertThat(proxy.seen).hasSize(5)
                .contains(List.of("SECKILL.MTRY", "7", "u1", "o-u1", "u2", "o-u2"))
                .contains(List.of("SECKILL.TRY", "7", "u3", "o3", "SALE", "5"));
    }

    @Test
    void a_batch_has_no_more_than_allowed() {
        List<CompletableFuture<Purchase>> tries = buyAll(1 + 256 + 43);
        first.countDown();
        outcomes(tries);
        assertThat(proxy.seen.stream().map(List::size))
                .containsExactly(4, 2 + 2 * 256, 2 + 2 * 43);
    }

    @Test
    void a_member_that_is_cancelled_leaves_also_by_a_subscriber_of_reactor() {
        List<CompletableFuture<Purchase>> tries = buyAll(4);
        assertThat(tries.get(1).cancel(false)).isTrue();
        Mono.fromFuture(() -> buy("u4")).subscribe().dispose();
        first.countDown();
        assertThat(tries.get(3).join().outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(proxy.arguments(1)).containsExactly("u2", "o-u2", "u3", "o-u3");
    }

    @Test
    void a_member_that_the_server_refuses_fails_alone() {
        buy("u0");
        CompletableFuture<Purchase> taken = client.start(tryBuy("7", "u1", "o-u0"));
        CompletableFuture<Purchase> good = buy("u2");
        first.countDown();
        Until.fails(taken, Code.ORDERID);
        assertThat(good.join().outcome()).isEqualTo(Outcome.ACCEPTED);
        // Refused as a whole, each is tried by itself.
        CountDownLatch again = new CountDownLatch(1);
        proxy.rule = command -> {
            again.await();
            return null;
        };
        buy("u3");
        CompletableFuture<Purchase> tooLong = buy("x".repeat(600));
        CompletableFuture<Purchase> last = buy("u4");
        again.countDown();
        Until.fails(tooLong, Code.OTHER);
        assertThat(last.join().outcome()).isEqualTo(Outcome.ACCEPTED);
    }

    @Test
    void a_batch_that_fails_fails_its_members_alone() {
        List<CompletableFuture<Purchase>> tries = buyAll(3);
        proxy.rule = command -> {
            first.await();
            return command.get(0).equals("SECKILL.MTRY") ? "-OOM command not allowed" : null;
        };
        first.countDown();
        Until.fails(tries.get(1), Code.OTHER);
        Until.fails(tries.get(2), Code.OTHER);
        assertThat(buy("u3").join().outcome()).isEqualTo(Outcome.ACCEPTED);
    }

    @Test
    void without_an_answer_a_batch_is_repeated_if_the_voucher_is_managed() {
        shop.plain.set("seckill:stock:8", "9");
        for (String voucher : List.of("7", "8")) {
            proxy.seen.clear();
            CountDownLatch begun = new CountDownLatch(1);
            proxy.rule = command -> {
                begun.await();
                return command.get(0).equals("SECKILL.MTRY") && proxy.count("SECKILL.MTRY") == 1
                        ? Proxy.LOSE
                        : null;
            };
            List<CompletableFuture<Purchase>> tries = IntStream.range(0, 3)
                    .mapToObj(i -> client.start(tryBuy(voucher, "u" + i, "o" + i))).toList();
            begun.countDown();
            boolean managed = voucher.equals("7");
            assertThat(outcomes(tries.subList(1, 3)))
                    .containsOnly(managed ? Outcome.ACCEPTED : Outcome.UNKNOWN);
            assertThat(proxy.count("SECKILL.MTRY")).isEqualTo(managed ? 2 : 1);
        }
        assertThat(shop.plain.get("seckill:stock:7")).isEqualTo("1");
    }

    /** Which costs no more than to wait: it is what a shop falls back to when it can do no more. */
    @Test
    void too_many_that_wait_are_told_so_and_not_sent() {
        long began = cpuNanos();
        List<CompletableFuture<Purchase>> tries = buyAll(1 + 65_536);
        long waiting = cpuNanos() - began;
        began = cpuNanos();
        List<CompletableFuture<Purchase>> refused =
                IntStream.range(0, 1_000).mapToObj(i -> buy("v" + i)).toList();
        assertThat(cpuNanos() - began).isLessThan(waiting);
        refused.forEach(one -> Until.fails(one, Code.BUSY));
        first.countDown();
        assertThat(tries.get(65_536).join().outcome()).isEqualTo(Outcome.SOLD_OUT);
        assertThat(buy("late").join().outcome()).isEqualTo(Outcome.SOLD_OUT);
        assertThat(proxy.seen).noneMatch(command -> command.contains("v0"));
    }

    private static long cpuNanos() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    }

    @Test
    void whoever_has_waited_too_long_is_told_that_nothing_was_sent() throws Exception {
        client = SeckillClient.create(
                lettuce, SeckillOptions.defaults().retryFor(Duration.ZERO));
        Proxy.Rule silent = proxy.rule;
        proxy.rule = command -> null;
        Shop.awaitAnswer(client, "7");
        proxy.rule = silent;
        List<CompletableFuture<Purchase>> sent = new ArrayList<>(List.of(buy("first")));
        Thread.sleep(600);
        sent.addAll(buyAll(256));
        CompletableFuture<Purchase> late = buy("late");
        assertThat(outcomes(sent)).containsOnly(Outcome.UNKNOWN);
        Until.fails(late, Code.BUSY);
        first.countDown();
    }

    /** Whether the voucher is managed is asked, and not answered. */
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_try_ends_in_its_time_while_a_question_is_open(boolean coalescing) {
        client = SeckillClient.create(lettuce, Shop.PATIENT.retryFor(Duration.ZERO));
        CompletableFuture<Purchase> fullMinute = buy("u0");
        Until.await("sent").until(() -> proxy.count("SECKILL.TRY") == 1);
        Proxy.Rule silent = proxy.rule;
        proxy.rule = command -> null;
        try (SeckillClient other = SeckillClient.create(
                lettuce, Shop.PATIENT.coalescing(coalescing).retryFor(Duration.ofSeconds(3)))) {
            Until.await("connected").until(() -> other.info("7").managed());
            proxy.rule = command ->
                    command.get(0).equals("SECKILL.TRY") ? Proxy.DROP : silent.answer(command);
            Purchase lost = other.start(tryBuy("7", "u1", "o-u1")).join();
            assertThat(lost.outcome()).isEqualTo(Outcome.UNKNOWN);
            assertThat(fullMinute).isNotDone();
            first.countDown();
        }
    }

    @Test
    void how_long_a_try_is_sent_again_counts_from_its_call() throws Exception {
        client = SeckillClient.create(lettuce, Shop.PATIENT.retryFor(Duration.ofMillis(500)));
        List<CompletableFuture<Purchase>> tries = buyAll(3);
        Thread.sleep(600);
        Proxy.Rule silent = proxy.rule;
        proxy.rule = command ->
                command.get(0).equals("SECKILL.MTRY") ? Proxy.DROP : silent.answer(command);
        first.countDown();
        assertThat(outcomes(tries))
                .containsExactly(Outcome.ACCEPTED, Outcome.UNKNOWN, Outcome.UNKNOWN);
        assertThat(proxy.seen).hasSize(2);
    }

    @Test
    void switched_off_each_goes_alone() {
        first.countDown();
        client = SeckillClient.create(lettuce, Shop.PATIENT.coalescing(false));
        outcomes(buyAll(3));
        assertThat(proxy.count("SECKILL.TRY")).isEqualTo(3);
    }

    @Test
    void closing_fails_what_was_not_sent() {
        List<CompletableFuture<Purchase>> tries = buyAll(2);
        client.close();
        Until.fails(tries.get(1), Code.BUSY);
        Until.fails(buy("u2"), Code.BUSY);
        first.countDown();
    }

    /** Each is refused while it is sent, and none within the call that has sent the one before. */
    @Test
    void however_often_one_is_refused_and_comes_again_it_ends_and_the_voucher_sells_on()
            throws Exception {
        client = SeckillClient.create(lettuce, Shop.PATIENT.retryFor(Duration.ZERO));
        buy("u0");
        CompletableFuture<Throwable> last = new CompletableFuture<>();
        buyAgain(20_000, last);
        client.disconnect();
        assertThat(last.get(60, TimeUnit.SECONDS))
                .isInstanceOf(SeckillException.NotNow.class);
        client.connect();
        first.countDown();
        assertThat(buy("late").get(60, TimeUnit.SECONDS).isAccepted()).isTrue();
    }

    private void buyAgain(int times, CompletableFuture<Throwable> last) {
        buy("again").whenComplete((bought, failed) -> {
            if (times == 0) {
                last.complete(failed);
            } else {
                buyAgain(times - 1, last);
            }
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"onStart", "onScopeOpened", "onScopeClosed", "onError", "onStop"})
    void an_observer_that_throws_and_a_wrong_reply_leave_nobody_waiting(String where) {
        ObservationRegistry broken = ObservationRegistry.create();
        broken.observationConfig().observationHandler(Until.observerThatThrows(() -> where));
        client = SeckillClient.create(lettuce, Shop.PATIENT.observations(broken));
        proxy.rule = command -> {
            first.await();
            return command.get(0).equals("SECKILL.MTRY") ? "*1\r\n:0" : null;
        };
        List<CompletableFuture<Purchase>> tries = buyAll(3);
        first.countDown();
        assertThat(tries.get(0).join().outcome()).isEqualTo(Outcome.ACCEPTED);
        Until.fails(tries.get(1), Code.REPLY);
        Until.fails(tries.get(2), Code.REPLY);
        assertThat(proxy.count("SECKILL.TRY")).isEqualTo(1);
        assertThat(broken.getCurrentObservationScope()).isNull();
    }
}
