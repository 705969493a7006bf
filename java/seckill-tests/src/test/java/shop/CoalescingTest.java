package shop;

import static io.github.seckill.client.Commands.tryBuy;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationHandler;
import io.micrometer.observation.ObservationRegistry;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import reactor.core.publisher.Mono;

/** Which tries travel together, and what becomes of each. No server: every answer is the test's. */
class CoalescingTest {
    private final FakeTransport wire = new FakeTransport();
    @AutoClose private SeckillClient client = client(SeckillOptions.defaults());

    private SeckillClient client(SeckillOptions options) {
        return SeckillClient.create(wire, options);
    }

    private CompletableFuture<Outcome> buy(String user) {
        return client.start(tryBuy("7", user, "o-" + user));
    }

    private List<CompletableFuture<Outcome>> buyAll(int count) {
        return IntStream.range(0, count).mapToObj(i -> buy("u" + i)).toList();
    }

    /** Tries whose ids the server makes. */
    private List<CompletableFuture<Purchase>> purchases(int count) {
        return IntStream.range(0, count).mapToObj(i -> client.start(tryBuy("7", "v" + i))).toList();
    }

    /** So many tries, of which the first is answered and the others are under way together. */
    private List<CompletableFuture<Outcome>> batch(int others) {
        List<CompletableFuture<Outcome>> tries = buyAll(1 + others);
        wire.answer(0, 0L);
        assertThat(tries.get(0).join()).isEqualTo(Outcome.ACCEPTED);
        return tries.subList(1, tries.size());
    }

    private static List<Object> zeros(int count) {
        return new ArrayList<>(Collections.nCopies(count, 0L));
    }

    @Test
    void the_first_goes_alone_and_the_rest_together_in_the_order_of_arrival() {
        List<CompletableFuture<Outcome>> tries = buyAll(5);
        assertThat(wire.count()).isEqualTo(1);
        assertThat(wire.sent(0).command().name()).isEqualTo("SECKILL.TRY");
        assertThat(wire.arguments(0)).containsExactly("u0", "o-u0");

        wire.answer(0, 0L);
        assertThat(wire.count()).isEqualTo(2);
        assertThat(wire.sent(1).command().name()).isEqualTo("SECKILL.MTRY");
        assertThat(wire.arguments(1))
                .containsExactly("u1", "o-u1", "u2", "o-u2", "u3", "o-u3", "u4", "o-u4");

        wire.answer(1, List.of(0L, 2L, 1L, 1L));
        assertThat(tries.stream().map(CompletableFuture::join)).containsExactly(
                Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.AT_LIMIT, Outcome.SOLD_OUT,
                Outcome.SOLD_OUT);
        assertThat(client.tryCommands()).isEqualTo(2);

        buy("late");
        assertThat(wire.sent(2).command().name()).isEqualTo("SECKILL.TRY");
    }

    @Test
    void vouchers_do_not_wait_for_each_other_nor_does_a_try_that_goes_alone() {
        buy("u0");
        client.start(tryBuy("8", "u0", "o1"));
        client.start(tryBuy("7", "u1", "o1").inSale(5));
        assertThat(wire.arguments(2)).containsExactly("u1", "o1", "SALE", "5");
        client.start(tryBuy("7", "u2", "o2").waitlist());
        assertThat(wire.arguments(3)).containsExactly("u2", "o2", "WAITLIST");
        client.start(tryBuy("7", "u3").waitlist());
        assertThat(wire.arguments(4)).containsExactly("u3", "*", "WAITLIST");
    }

    @Test
    void a_batch_has_no_more_than_allowed() {
        client = client(SeckillOptions.defaults().batchMax(3));
        List<CompletableFuture<Outcome>> tries = buyAll(8);
        wire.answer(0, 0L);
        assertThat(wire.arguments(1)).hasSize(6);
        wire.answer(1, zeros(3));
        assertThat(wire.arguments(2)).hasSize(6);
        wire.answer(2, zeros(3));
        assertThat(wire.sent(3).command().name()).isEqualTo("SECKILL.TRY");
        wire.answer(3, 0L);
        assertThat(tries).allMatch(attempt -> attempt.join() == Outcome.ACCEPTED);
    }

    @Test
    void a_member_that_is_cancelled_leaves_also_by_a_subscriber_of_reactor() {
        buy("u0");
        CompletableFuture<Outcome> left = buy("u1");
        CompletableFuture<Outcome> stays = buy("u2");
        assertThat(left.cancel(false)).isTrue();
        Mono.fromFuture(() -> client.start(tryBuy("7", "u3", "o-u3"))).subscribe().dispose();
        wire.answer(0, 0L);
        assertThat(wire.arguments(1)).containsExactly("u2", "o-u2");
        wire.answer(1, 1L);
        assertThat(stays.join()).isEqualTo(Outcome.SOLD_OUT);
    }

    @Test
    void one_that_is_cancelled_under_way_disturbs_nobody() {
        List<CompletableFuture<Outcome>> both = batch(2);
        both.get(0).cancel(false);
        wire.answer(1, List.of(0L, 1L));
        assertThat(both.get(1).join()).isEqualTo(Outcome.SOLD_OUT);
    }

    @Test
    void a_batch_that_fails_fails_its_members_alone() {
        List<CompletableFuture<Outcome>> both = batch(2);
        CompletableFuture<Outcome> fourth = buy("u3");
        wire.fail(1, "OOM command not allowed when used memory > 'maxmemory'");
        for (CompletableFuture<Outcome> failed : both) {
            assertThatThrownBy(failed::join).cause()
                    .hasFieldOrPropertyWithValue("code", Code.OTHER)
                    .hasFieldOrPropertyWithValue("word", "OOM");
        }
        wire.answer(2, 1L);
        assertThat(fourth.join()).isEqualTo(Outcome.SOLD_OUT);
    }

    @Test
    void a_member_that_the_server_refuses_fails_alone() {
        List<CompletableFuture<Outcome>> both = batch(2);
        wire.answer(1, List.of(SeckillException.of("ORDERID taken"), 0L));
        Until.fails(both.get(0), Code.ORDERID);
        assertThat(both.get(1).join()).isEqualTo(Outcome.ACCEPTED);

        buy("u3");
        CompletableFuture<Outcome> tooLong = buy("x".repeat(600));
        CompletableFuture<Outcome> good = buy("u4");
        wire.answer(2, 0L);
        wire.fail(3, "ERR user must be at most 512 bytes long");
        assertThat(wire.count()).isEqualTo(6);
        wire.fail(4, "ERR user must be at most 512 bytes long");
        wire.answer(5, 0L);
        Until.fails(tooLong, Code.OTHER);
        assertThat(good.join()).isEqualTo(Outcome.ACCEPTED);
    }

    @Test
    void without_an_answer_a_batch_is_repeated_if_the_voucher_is_managed() throws Exception {
        List<CompletableFuture<Outcome>> both = batch(2);
        wire.noAnswer(1);
        assertThat(wire.sent(2).command().name()).isEqualTo("SECKILL.INFO");
        wire.answer(2, FakeTransport.MANAGED);
        await("sent again").until(() -> wire.count() == 4);
        assertThat(wire.arguments(3)).isEqualTo(wire.arguments(1));
        wire.answer(3, List.of(0L, 1L));
        assertThat(both.get(0).join()).isEqualTo(Outcome.ACCEPTED);
        assertThat(both.get(1).join()).isEqualTo(Outcome.SOLD_OUT);
    }

    @Test
    void without_an_answer_a_batch_of_an_unmanaged_voucher_is_unknown() {
        List<CompletableFuture<Outcome>> both = batch(2);
        wire.noAnswer(1);
        wire.answer(2, FakeTransport.UNMANAGED);
        assertThat(both).allMatch(attempt -> attempt.join() == Outcome.UNKNOWN);
        assertThat(wire.count()).isEqualTo(3);
    }

    @Test
    void the_next_batch_does_not_wait_for_the_repetitions_of_the_one_before() {
        buy("u0");
        buy("u1");
        wire.noAnswer(0);
        assertThat(wire.sent(1).command().name()).isEqualTo("SECKILL.TRY");
        assertThat(wire.arguments(1)).containsExactly("u1", "o-u1");
        assertThat(wire.sent(2).command().name()).isEqualTo("SECKILL.INFO");
    }

    @Test
    void too_many_that_wait_are_told_so_and_not_sent() {
        client = client(SeckillOptions.defaults().waitingMax(2));
        buy("u0");
        CompletableFuture<Outcome> left = buy("u1");
        buy("u2");
        Until.fails(buy("u3"), Code.BUSY);
        left.cancel(false);
        buy("u4");
        wire.answer(0, 0L);
        assertThat(wire.arguments(1)).containsExactly("u2", "o-u2", "u4", "o-u4");
    }

    @Test
    void whoever_has_waited_too_long_is_told_that_nothing_was_sent() throws Exception {
        client = client(SeckillOptions.defaults()
                .commandTimeout(Duration.ofMillis(100)).retryFor(Duration.ZERO));
        buy("u0");
        CompletableFuture<Outcome> late = buy("u1");
        long since = System.nanoTime();
        await("late").until(() -> System.nanoTime() - since > 150_000_000);
        wire.answer(0, 0L);
        Until.fails(late, Code.BUSY);
        assertThat(wire.count()).isEqualTo(1);
    }

    @Test
    void tries_whose_ids_the_server_makes_travel_apart_and_are_never_repeated() throws Exception {
        buy("u0");
        buy("u1");
        List<CompletableFuture<Purchase>> tries = purchases(6);
        assertThat(wire.count()).isEqualTo(2);
        assertThat(wire.arguments(1)).containsExactly("v0", "*");
        wire.answer(1, Arrays.asList(1L, null));
        assertThat(wire.arguments(2)).startsWith("v1", "*", "v2", "*").hasSize(10);
        wire.answer(2, List.of(
                List.of(0L, "9007199254740993"), Arrays.asList(1L, null), Arrays.asList(2L, null),
                SeckillException.of("NOVOUCHER no stock key for this voucher"),
                List.of(0L, "9007199254740994")));
        assertThat(tries.get(0).join()).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));
        assertThat(tries.get(1).join()).isEqualTo(new Purchase.Accepted("9007199254740993"));
        assertThat(tries.get(3).join()).isEqualTo(new Purchase.Refused(Outcome.AT_LIMIT));
        Until.fails(tries.get(4), Code.NOVOUCHER);
        assertThat(tries.get(5).join()).isEqualTo(new Purchase.Accepted("9007199254740994"));

        List<CompletableFuture<Purchase>> unanswered = purchases(3);
        wire.noAnswer(3);
        wire.noAnswer(4);
        assertThat(unanswered).allMatch(attempt -> attempt.join() instanceof Purchase.Unknown);
        assertThat(wire.count()).isEqualTo(5);
    }

    /** How many users were in the first command, where tries came so fast after each other. */
    private int firstAtOn(int tries) {
        FakeTransport fresh = new FakeTransport();
        SeckillOptions on = SeckillOptions.defaults().coalescing(Coalescing.ON)
                .coalescingWindow(SeckillOptions.WINDOW_MAX).batchMax(4);
        try (SeckillClient client = SeckillClient.create(fresh, on)) {
            IntStream.range(0, tries)
                    .forEach(i -> client.start(tryBuy("7", "u" + i, "o-u" + i)));
            await("sent").until(() -> fresh.count() > 0);
            return fresh.arguments(0).size() / 2;
        }
    }

    @Test
    void at_on_a_try_waits_for_others_until_its_window_ends_or_the_batch_is_full() {
        assertThat(firstAtOn(1)).isEqualTo(1);
        await("together").until(() -> firstAtOn(2) == 2);
        await("no more than a batch").until(() -> firstAtOn(6) == 4);
    }

    @Test
    void at_off_each_goes_by_itself() {
        client = client(SeckillOptions.defaults().coalescing(Coalescing.OFF));
        buy("u0");
        buy("u1");
        assertThat(wire.sent(1).command().name()).isEqualTo("SECKILL.TRY");
    }

    @Test
    void closing_fails_what_was_not_sent() {
        buy("u0");
        CompletableFuture<Outcome> waits = buy("u1");
        client.close();
        Until.fails(waits, Code.BUSY);
        Until.fails(buy("u2"), Code.BUSY);
    }

    @Test
    void an_observer_that_throws_and_a_reply_without_an_id_leave_nobody_waiting() {
        ObservationRegistry broken = ObservationRegistry.create();
        broken.observationConfig().observationHandler(new ObservationHandler<>() {
            @Override
            public void onStop(Observation.Context context) {
                throw new IllegalStateException("an observer that throws");
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        client = new SeckillClient(wire, SeckillOptions.defaults(), broken);
        List<CompletableFuture<Purchase>> tries = purchases(3);
        wire.answer(0, Arrays.asList(1L, null));
        wire.answer(1, List.of(Arrays.asList(0L, null), Arrays.asList(1L, null)));
        assertThat(tries.get(0).join()).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));
        Until.fails(tries.get(1), Code.REPLY);
        assertThat(tries.get(2).join()).isEqualTo(new Purchase.Refused(Outcome.SOLD_OUT));
    }

    @Test
    void a_reply_of_another_length_is_no_outcome_of_anybody() {
        List<CompletableFuture<Outcome>> both = batch(2);
        wire.answer(1, LongStream.range(0, 3).boxed().toList());
        both.forEach(attempt -> Until.fails(attempt, Code.REPLY));
    }
}
