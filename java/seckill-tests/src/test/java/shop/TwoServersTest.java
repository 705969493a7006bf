package shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A server that hangs holds up nobody who has another one. */
class TwoServersTest {
    /** What hangs does so for longer than others wait for what it may keep from them. */
    private static final SeckillOptions LONG = Shop.PATIENT.commandTimeout(Duration.ofHours(1));

    @AutoClose private final Shop frozen = new Shop();
    @AutoClose private final Shop healthy = new Shop();

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aFrozenServerKeepsNobodyFromAnotherOne(boolean byUri) {
        frozen.client(LONG).create("7", 9, SaleRules.none());
        healthy.client(LONG).create("7", 9, SaleRules.none());
        SeckillClient hangs = byUri
                ? frozen.client(LONG)
                : SeckillClient.create(frozen.lettuce, LONG);
        frozen.server.freeze();
        List<CompletableFuture<?>> calls = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String key = "lock:" + i;
            calls.add(Shop.on(() -> {
                hangs.lock(key).lock();
                return null;
            }));
            calls.add(Shop.on(() -> frozen.client(LONG).tryBuy("7", key, key)));
        }
        await(calls);
        SeckillClient serves = byUri
                ? healthy.client(Shop.PATIENT)
                : SeckillClient.create(healthy.lettuce, Shop.PATIENT);
        try (serves) {
            assertThat(serves.lock("lock:b").tryLock()).isTrue();
            serves.lock("lock:b").unlock();
            assertThat(serves.tryBuy("7", "alice", "a1").outcome()).isEqualTo(Outcome.ACCEPTED);
        }
        assertThat(calls).noneMatch(CompletableFuture::isDone);
        frozen.server.thaw();
        hangs.close();
    }

    /** All of them have asked for a connection by now. */
    private static void await(List<CompletableFuture<?>> calls) {
        long since = System.nanoTime();
        Until.await("all hang").until(() -> System.nanoTime() - since > 1_000_000_000L);
        assertThat(calls).noneMatch(CompletableFuture::isDone);
    }

    /** Among those who hang themselves is room for who can be served, once the server is back. */
    @Test
    void whoHasGivenUpConnectingKeepsNobodyOut() throws Exception {
        SeckillClient client = frozen.client(
                LONG.commandTimeout(Duration.ofMillis(200)).retryFor(Duration.ZERO));
        frozen.server.freeze();
        List<CompletableFuture<?>> calls = new ArrayList<>();
        for (int i = 0; i < 60; i++) {
            String key = "lock:" + i;
            calls.add(Shop.on(() -> client.lock(key).tryLock()));
        }
        Shop.ended(calls);
        frozen.server.thaw();
        Until.await("served").until(() -> {
            try {
                return client.lock("lock:c").tryLock();
            } catch (SeckillException.NotNow | SeckillException.NoAnswer slow) {
                return false;
            }
        });
        client.lock("lock:c").unlock();
    }
}
