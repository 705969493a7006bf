package io.github.seckill.client;

import static io.github.seckill.client.Commands.tryBuy;
import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** When sold out is answered without the network. No server: every answer is the test's. */
class SoldOutMemoryTest {
    private final FakeTransport wire = new FakeTransport();
    @AutoClose private final SeckillClient client = SeckillClient.create(
            wire,
            SeckillOptions.defaults()
                    .coalescing(Coalescing.OFF).rememberSoldOut(true)
                    .soldOutFor(Duration.ofHours(1)));
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
    void a_voucher_that_is_sold_out_is_not_asked_for_again() {
        remember(0);
        assertThat(wire.watched()).containsExactly("seckill:stock:7");
        assertThat(buy().join()).isEqualTo(Outcome.SOLD_OUT);
        assertThat(isAsked()).isFalse();
        client.start(tryBuy("8", "alice", "o1"));
        assertThat(wire.count()).isEqualTo(2);
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
    void a_try_that_would_wait_is_sent_whatever_is_remembered() {
        remember(0);
        CompletableFuture<Outcome> waiting =
                client.start(tryBuy("7", "bob", "o9").inSale(5).waitlist());
        assertThat(wire.arguments(1)).containsExactly("bob", "o9", "SALE", "5", "WAITLIST");
        wire.answer(1, 6L);
        assertThat(waiting.join()).isEqualTo(Outcome.WAITING);
        CompletableFuture<Purchase> named = client.start(tryBuy("7", "bob").waitlist());
        wire.answer(2, List.of(6L, "31"));
        assertThat(named.join()).isEqualTo(new Purchase.Waiting("31"));
        // It may be served meanwhile, so the server is asked for it again.
        buy("o9");
        assertThat(wire.count()).isEqualTo(4);
        assertThat(isAsked()).isFalse();
    }

    @Test
    void an_outcome_of_a_newer_server_is_unknown() {
        CompletableFuture<Outcome> attempt = buy("o9");
        wire.answer(0, 7L);
        assertThat(attempt.join()).isEqualTo(Outcome.UNKNOWN);
    }

    @Test
    void a_change_of_the_stock_ends_it() {
        remember(0);
        wire.listener().changed("seckill:stock:8");
        assertThat(isAsked()).isFalse();
        wire.listener().changed("seckill:stock:7");
        assertThat(isAsked()).isTrue();
    }

    @Test
    void a_lost_connection_ends_it() {
        remember(0);
        wire.listener().allChanged();
        assertThat(isAsked()).isTrue();
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
    void it_ends_by_itself() {
        FakeTransport brief = new FakeTransport();
        try (SeckillClient forgetful =
                SeckillClient.create(
                        brief,
                        SeckillOptions.defaults()
                                .rememberSoldOut(true).soldOutFor(Duration.ofNanos(1)))) {
            forgetful.start(tryBuy("7", "alice", "o1"));
            brief.answer(0, 1L);
            brief.stock(0, 0);
            forgetful.start(tryBuy("7", "bob", "o2"));
            assertThat(brief.count()).isEqualTo(2);
        }
    }

    @Test
    void names_follow_the_hash_tags_of_the_server() {
        FakeTransport tagged = new FakeTransport();
        SeckillOptions options =
                SeckillOptions.defaults().rememberSoldOut(true).stockNames("s:", true);
        try (SeckillClient tags = SeckillClient.create(tagged, options)) {
            tags.start(tryBuy("7", "alice", "o1"));
            tagged.answer(0, 1L);
            tags.start(tryBuy("{shop3}:7", "alice", "o2"));
            tagged.answer(1, 1L);
            assertThat(tagged.watched()).containsExactly("s:{7}", "s:{shop3}:7");
            tagged.stock(0, 0);
            tagged.stock(1, 0);
            tags.start(tryBuy("7", "bob", "o3"));
            tags.start(tryBuy("{shop3}:7", "bob", "o4"));
            assertThat(tagged.count()).isEqualTo(2);
            tagged.listener().changed("s:{7}");
            tagged.listener().changed("s:{shop3}:7");
            tags.start(tryBuy("7", "bob", "o5"));
            tags.start(tryBuy("{shop3}:7", "bob", "o6"));
            assertThat(tagged.count()).isEqualTo(4);
        }
    }
}
