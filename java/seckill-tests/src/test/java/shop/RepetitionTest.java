package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is sent again, and what is said in the end. No server: every answer is the test's. */
class RepetitionTest {
    private final FakeTransport wire = new FakeTransport();
    @AutoClose private SeckillClient client = client(Duration.ofHours(1));

    private SeckillClient client(Duration retryFor) {
        return SeckillClient.create(
                wire, SeckillOptions.defaults().coalescing(Coalescing.OFF).retryFor(retryFor));
    }

    private CompletableFuture<Outcome> buy() {
        return client.start(tryBuy("7", "alice", "o1"));
    }

    private void awaitSent(int count) throws Exception {
        await(count + " sent").until(() -> wire.count() == count);
    }

    /** A try on a managed voucher that had no answer at first, and was sent again. */
    private CompletableFuture<Outcome> buyTwice() throws Exception {
        CompletableFuture<Outcome> attempt = buy();
        wire.noAnswer(0);
        wire.answer(1, FakeTransport.MANAGED);
        awaitSent(3);
        return attempt;
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "TRYAGAIN", "MOVED", "ASK", "CLUSTERDOWN", "LOADING", "MASTERDOWN", "READONLY",
        "NOREPLICAS", "BUSY"
    })
    void what_was_refused_for_the_moment_is_sent_again_also_if_unmanaged(String word)
            throws Exception {
        try (SeckillClient impatient = client(Duration.ZERO)) {
            CompletableFuture<Outcome> refused = impatient.start(tryBuy("7", "alice", "o1"));
            wire.fail(0, word + " and why");
            // It was never done, and is thrown as such.
            assertThatThrownBy(refused::join).cause()
                    .isInstanceOf(SeckillException.NotNow.class)
                    .hasFieldOrPropertyWithValue("word", word);
        }
        CompletableFuture<Outcome> attempt = buy();
        wire.fail(1, word + " and why");
        awaitSent(3);
        assertThat(wire.sent(2).command()).isEqualTo(wire.sent(1).command());
        wire.answer(2, 0L);
        assertThat(attempt.join()).isEqualTo(Outcome.ACCEPTED);
    }

    @Test
    void a_refusal_of_the_repetition_does_not_say_that_the_first_was_not_done() throws Exception {
        CompletableFuture<Outcome> attempt = buyTwice();
        wire.fail(2, "OOM command not allowed when used memory > 'maxmemory'");
        awaitSent(4);
        wire.fail(3, "READONLY You can't write against a read only replica");
        awaitSent(5);
        wire.answer(4, 0L);
        assertThat(attempt.join()).isEqualTo(Outcome.ACCEPTED);
    }

    @Test
    void after_an_unanswered_one_the_end_is_unknown_whatever_came_last() throws Exception {
        client = client(Duration.ofSeconds(1));
        CompletableFuture<Outcome> attempt = buyTwice();
        for (int sent = 2; !attempt.isDone(); sent++) {
            int next = sent;
            await("sent or over").until(() -> wire.count() > next || attempt.isDone());
            if (!attempt.isDone()) {
                wire.fail(next, "READONLY You can't write against a read only replica");
            }
        }
        assertThat(attempt.join()).isEqualTo(Outcome.UNKNOWN);
    }

    @Test
    void a_mistake_ends_the_repetitions() throws Exception {
        CompletableFuture<Outcome> attempt = buyTwice();
        wire.fail(2, "NOVOUCHER no stock key for this voucher");
        Until.fails(attempt, Code.NOVOUCHER);
    }

    @Test
    void tries_without_an_answer_share_the_question_whether_the_voucher_is_managed() {
        CompletableFuture<Outcome> first = buy();
        CompletableFuture<Outcome> second = buy();
        wire.noAnswer(0);
        wire.noAnswer(1);
        assertThat(wire.count()).isEqualTo(3);
        wire.answer(2, FakeTransport.UNMANAGED);
        assertThat(first.join()).isEqualTo(Outcome.UNKNOWN);
        assertThat(second.join()).isEqualTo(Outcome.UNKNOWN);
    }

    @Test
    void a_cancellation_is_repeated_only_if_the_voucher_is_managed() {
        CompletableFuture<Cancellation> cancelled =
                client.start(cancel(OrderRef.of("7", "alice", "o1")));
        wire.noAnswer(0);
        assertThat(wire.sent(1).command().name()).isEqualTo("SECKILL.INFO");
        wire.answer(1, FakeTransport.UNMANAGED);
        Until.fails(cancelled, Code.NOANSWER);
        assertThat(wire.count()).isEqualTo(2);
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
    void what_may_be_repeated_is_sent_again_without_a_question(SeckillCommand<?> command)
            throws Exception {
        CompletableFuture<?> done = client.start(command);
        wire.noAnswer(0);
        awaitSent(2);
        assertThat(wire.sent(1).command()).isEqualTo(wire.sent(0).command());
        wire.answer(1, 1L);
        done.join();
    }

    @Test
    void a_cart_is_sent_again_the_same() throws Exception {
        List<Article> cart = List.of(new Article("{s}7", 1), new Article("{s}8", 2));
        CompletableFuture<CartResult> bought = client.start(tryAll("alice", "o1", cart));
        wire.noAnswer(0);
        awaitSent(2);
        assertThat(wire.sent(1).command()).isEqualTo(wire.sent(0).command());
        assertThat(wire.sent(1).command().arguments())
                .containsExactly("{s}7", "1", "{s}8", "2", "alice", "o1");
        wire.answer(1, List.of(0L, 0L));
        assertThat(bought.join().isBought()).isTrue();
        client = client(Duration.ZERO);
        CompletableFuture<CartResult> unknown = client.start(tryAll("alice", "o2", cart));
        wire.noAnswer(2);
        assertThat(unknown.join().outcomes()).containsExactly(Outcome.UNKNOWN, Outcome.UNKNOWN);
        assertThat(unknown.join().isBought()).isFalse();
    }

    static List<SeckillCommand<?>> onlyOnce() {
        return List.of(restock("7", 9), restock("7", 9).inSale(5), drop("7"), releaseAndDrop("7"));
    }

    @ParameterizedTest
    @MethodSource("onlyOnce")
    void what_would_be_done_twice_is_sent_once(SeckillCommand<?> command) {
        CompletableFuture<?> done = client.start(command);
        wire.noAnswer(0);
        Until.fails(done, Code.NOANSWER);
        assertThat(wire.count()).isEqualTo(1);
    }
}
