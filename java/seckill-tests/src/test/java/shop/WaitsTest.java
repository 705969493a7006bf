package shop;

import static io.github.seckill.client.Commands.*;
import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.micrometer.observation.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Nobody waits for ever: not for a server, not for a client that is closed, not if interrupted. */
class WaitsTest {
    @AutoClose private final Shop shop = new Shop();

    private static List<CompletableFuture<?>> everyKindOfCall(SeckillClient client) {
        List<CompletableFuture<?>> calls = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            String id = "o" + i;
            calls.add(Shop.on(() -> client.tryBuy("7", id, id)));
            calls.add(Shop.on(() -> client.reserve("7", id, id + "r")));
            calls.add(Shop.on(() -> client.confirm(OrderRef.of("7", id, id), "p-" + id)));
            calls.add(client.start(tryBuy("7", id, id + "s")));
            calls.add(client.start(extend(OrderRef.of("7", id, id), Duration.ofMinutes(1))));
            calls.add(Shop.on(() -> {
                client.lock("lock:" + id).lock();
                return null;
            }));
        }
        return calls;
    }

    @ParameterizedTest
    @ValueSource(strings = {"readOnly", "frozen", "gone"})
    void aClientThatIsClosedEndsEveryCall(String server) throws Exception {
        SeckillClient client =
                shop.selling(Shop.PATIENT.commandTimeout(Duration.ofHours(1)), 100);
        switch (server) {
            case "readOnly" -> shop.readOnly(true);
            case "frozen" -> shop.server.freeze();
            default -> shop.server.kill();
        }
        List<CompletableFuture<?>> calls = everyKindOfCall(client);
        Thread.yield();
        client.close();
        Shop.ended(calls);
        assertThatThrownBy(() -> client.tryBuy("7", "late", "late"))
                .isInstanceOf(SeckillException.class);
        if (server.equals("frozen")) {
            shop.server.thaw();
        }
    }

    @Test
    void waitersInALineEndWithTheirClient() throws Exception {
        SeckillClient holder = shop.client(Shop.PATIENT);
        holder.lock("lock:a").lock();
        SeckillClient client = shop.client(Shop.PATIENT);
        List<CompletableFuture<?>> waiters = new ArrayList<>();
        IntStream.range(0, 5).forEach(i -> waiters.add(Shop.on(() -> {
            client.lock("lock:a").lock();
            return null;
        })));
        shop.awaitInQueue(5);
        client.close();
        Shop.ended(waiters);
        shop.awaitInQueue(0);
        holder.lock("lock:a").unlock();
    }

    @Test
    void anInterruptedBuyerStopsWaiting() throws Exception {
        SeckillClient client = shop.selling(Shop.PATIENT, 100);
        shop.readOnly(true);
        List<Thread> threads = new ArrayList<>();
        CompletableFuture<Purchase> buyer = Shop.on(() -> {
            Purchase outcome = client.tryBuy("7", "alice", "a1");
            assertThat(Thread.currentThread().isInterrupted()).isTrue();
            return outcome;
        }, threads);
        CompletableFuture<Purchase> other =
                Shop.on(() -> client.reserve("7", "bob", "b1"), threads);
        CompletableFuture<?> payment = Shop.on(
                () -> client.confirm(OrderRef.of("7", "alice", "a1"), "p-1"), threads);
        for (Thread thread : threads) {
            await().until(() -> thread.getState() == Thread.State.WAITING);
            thread.interrupt();
        }
        assertThat(buyer.get(30, SECONDS).outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThat(other.get(30, SECONDS).outcome()).isEqualTo(Outcome.UNKNOWN);
        assertThatThrownBy(() -> payment.get(30, SECONDS))
                .hasCauseInstanceOf(SeckillException.NoAnswer.class);
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> client.tryBuy("7", "carol", "c1"))
                .isInstanceOf(SeckillException.Busy.class);
        assertThat(Thread.interrupted()).isTrue();
        shop.readOnly(false);
        assertThat(client.info("7").left()).isEqualTo(100);
    }

    /** What a server refuses for the moment did nothing, and is asked for again. */
    @Test
    void aSlowScriptIsWaitedFor() throws Exception {
        SeckillClient client = shop.selling(Shop.PATIENT, 100);
        shop.plain.configSet("busy-reply-threshold", "20");
        CompletableFuture<?> script = Shop.on(() -> {
            try (var slow = shop.lettuce.connect()) {
                return slow.sync().eval(
                        "while true do end", io.lettuce.core.ScriptOutputType.STATUS);
            }
        });
        await().until(() -> {
            try {
                shop.plain.ping();
                return false;
            } catch (io.lettuce.core.RedisException busy) {
                return busy.getMessage().startsWith("BUSY");
            }
        });
        CompletableFuture<Purchase> buyer = client.start(tryBuy("7", "alice", "a1"));
        shop.plain.scriptKill();
        assertThat(buyer.get(30, SECONDS).outcome()).isEqualTo(Outcome.ACCEPTED);
        Shop.ended(List.of(script));
    }

    /** A buyer who gives up before the try was sent has bought nothing, and it is observed. */
    @Test
    void whatIsGivenUpBeforeItIsSentIsNotSent() throws Exception {
        List<String> told = new CopyOnWriteArrayList<>();
        ObservationRegistry observations = ObservationRegistry.create();
        observations.observationConfig().observationHandler(new ObservationHandler<>() {
            @Override
            public void onStop(Observation.Context context) {
                told.add(context.getLowCardinalityKeyValue("outcome").getValue());
            }

            @Override
            public boolean supportsContext(Observation.Context context) {
                return true;
            }
        });
        SeckillClient client = shop.client(Shop.PATIENT.observations(observations));
        client.create("7", 100, SaleRules.none().hold(Duration.ofMinutes(15)));
        await().until(() -> told.remove("none"));
        shop.server.freeze();
        CompletableFuture<Purchase> first =
                client.start(tryBuy("7", "alice", "a1")).orTimeout(1, SECONDS);
        CompletableFuture<Purchase> second = client.start(reserve("7", "bob", "b1"));
        CompletableFuture<Purchase> third =
                client.start(tryBuy("7", "carol", "c1")).orTimeout(1, SECONDS);
        second.cancel(false);
        Shop.ended(List.of(first, second, third));
        await().until(() -> told.size() == 3);
        assertThat(told).containsOnly("given_up");
        shop.server.thaw();
        // What was under way is decided all the same.
        await().until(() -> client.order("7", "a1").isPresent());
        assertThat(client.order("7", "b1")).isEmpty();
        assertThat(client.audit("7").orders()).isEqualTo(1);
    }

    @Test
    void withoutAServerALockIsRefusedInTime() throws Exception {
        SeckillOptions options = SeckillOptions.defaults()
                .commandTimeout(Duration.ofMillis(200)).retryFor(Duration.ofSeconds(1));
        SeckillClient client = shop.client(options);
        shop.server.kill();
        List<CompletableFuture<?>> waiters = new ArrayList<>();
        for (int i = 0; i < 50; i++) {
            String key = "lock:" + i;
            waiters.add(Shop.on(() -> {
                client.lock(key).lock();
                return null;
            }));
        }
        for (CompletableFuture<?> waiter : waiters) {
            assertThatThrownBy(() -> waiter.get(30, SECONDS))
                    .hasCauseInstanceOf(SeckillException.NotNow.class);
        }
        assertThatThrownBy(() -> client.lock("lock:a").tryLock())
                .hasFieldOrPropertyWithValue("code", Code.NOTNOW);
    }
}
