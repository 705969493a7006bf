package shop;

import static io.github.seckill.client.Commands.tryBuy;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What is sent though sold out is remembered. No server: every answer is the test's. */
class SoldOutMemoryTest {
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
}
