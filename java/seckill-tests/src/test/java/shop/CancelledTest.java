package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.Order;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What its caller has given up while the server was away is not sent when it is back. */
class CancelledTest {
    @AutoClose private final SeckillServer server =
            SeckillServer.start("--appendonly", "yes", "--appendfsync", "always");
    @AutoClose private final RedisClient lettuce = RedisClient.create(server.uri());

    private SeckillClient client(boolean coalescing) {
        return SeckillClient.create(
                lettuce, SeckillOptions.defaults().coalescing(coalescing)
                        .commandTimeout(Duration.ofSeconds(30)).retryFor(Duration.ofMinutes(1)));
    }

    /** Until the client has seen that its server is gone: what it sends now, waits. */
    private void away() throws Exception {
        try (var admin = lettuce.connect()) {
            server.kill();
            await("seen").until(() -> !admin.isOpen());
        }
        Thread.sleep(100); // Its other connections see it in the same moment, on their own loops.
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatIsCancelledWhileTheServerIsAwayIsNeverSent(boolean coalescing) throws Exception {
        try (SeckillClient client = client(coalescing)) {
            client.create("7", 100, SaleRules.none().hold(Duration.ofHours(1)).limit(9));
            assertThat(client.tryBuy("7", "alice", "a1").outcome()).isEqualTo(Outcome.ACCEPTED);
            away();
            CompletableFuture<Confirmation> paid =
                    client.start(confirm(OrderRef.of("7", "alice", "a1"), "p1"));
            List<CompletableFuture<Purchase>> tries = new ArrayList<>();
            for (int i = 0; i < 40; i++) {
                tries.add(client.start(tryBuy("7", "u" + i, "o" + i)));
            }
            CompletableFuture<Purchase> reserved = client.start(reserve("7", "bob", "b1"));
            CompletableFuture<Purchase> late = client.start(tryBuy("7", "carol", "c1"))
                    .orTimeout(1, TimeUnit.MILLISECONDS);
            await("timed out").until(late::isCompletedExceptionally);
            paid.cancel(false);
            reserved.cancel(false);
            for (int i = 0; i < 40; i++) {
                if (i % 4 != 3) {
                    tries.get(i).cancel(false);
                }
            }
            server.restart();
            for (int i = 3; i < 40; i += 4) {
                assertThat(tries.get(i).get(60, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.ACCEPTED);
            }
            assertThat(client.tryBuy("7", "last", "last").outcome()).isEqualTo(Outcome.ACCEPTED);
            for (int i = 0; i < 40; i++) {
                assertThat(client.order("7", "o" + i).isPresent()).as("o%d", i)
                        .isEqualTo(i % 4 == 3);
            }
            assertThat(client.order("7", "a1").orElseThrow().state()).isEqualTo(Order.State.HELD);
            assertThat(client.order("7", "b1")).isEmpty();
            assertThat(client.order("7", "c1")).isEmpty();
            assertThat(client.info("7").left()).isEqualTo(100 - 12);
        }
    }

    /** A batch that had no answer is repeated for those only who still wait. */
    @Test
    void aRepetitionLeavesOutWhoHasGone() throws Exception {
        SeckillOptions quick = SeckillOptions.defaults()
                .commandTimeout(Duration.ofMillis(200)).retryFor(Duration.ofMinutes(1));
        try (SeckillClient office = client(true);
                SeckillClient client =
                        SeckillClient.create(lettuce, quick)) {
            office.create("7", 100, SaleRules.none());
            await("connected").until(() -> client.info("7").managed());
            server.freeze();
            List<CompletableFuture<Purchase>> tries = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                tries.add(client.start(tryBuy("7", "u" + i, "o" + i)));
            }
            long before = client.repeated();
            await("repeated").until(() -> client.repeated() > before + 1);
            tries.get(4).cancel(false);
            tries.get(5).cancel(false);
            // The connection is lost with all that was sent on it, before the server has read it.
            server.kill();
            server.restart();
            for (int i = 0; i < 10; i++) {
                if (i != 4 && i != 5) {
                    assertThat(tries.get(i).get(60, TimeUnit.SECONDS).outcome()).isEqualTo(Outcome.ACCEPTED);
                }
            }
            assertThat(office.order("7", "o4")).isEmpty();
            assertThat(office.order("7", "o5")).isEmpty();
            assertThat(office.info("7").left()).isEqualTo(92);
        }
    }
}
