package shop;

import static java.util.concurrent.TimeUnit.SECONDS;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.TimeoutOptions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The line of a lock, whatever time-outs the application has, and who closes its connections. */
class LockConnectionsTest {
    private static final String KEY = "lock:report";

    @AutoClose private final Shop shop = new Shop();

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theLineOutlivesTheTimeOutOfTheApplication(boolean fixed) throws Exception {
        Duration timeout = Duration.ofMillis(100);
        TimeoutOptions each =
                fixed ? TimeoutOptions.enabled(timeout) : TimeoutOptions.enabled();
        shop.timeOut(timeout, ClientOptions.builder().timeoutOptions(each).build());
        SeckillClient holder = shop.client(SeckillOptions.defaults());
        holder.lock(KEY).lock();
        List<Integer> served = new CopyOnWriteArrayList<>();
        List<CompletableFuture<?>> line = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int number = i;
            SeckillLock lock = shop.client(SeckillOptions.defaults()).lock(KEY);
            line.add(Shop.on(() -> {
                lock.lock();
                served.add(number);
                lock.unlock();
                return null;
            }));
            shop.awaitInLine(i + 1);
        }
        // Several time-outs later nobody has left the line.
        long calls = shop.calls("lock.acquire");
        long since = System.nanoTime();
        await().until(() -> System.nanoTime() - since > timeout.multipliedBy(5).toNanos());
        assertThat(shop.calls("lock.acquire")).isEqualTo(calls);
        holder.lock(KEY).unlock();
        Shop.ended(line);
        assertThat(served).containsExactly(0, 1, 2, 3, 4);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aRefusedReleaseLeavesNoConnection(boolean session) throws Exception {
        SeckillOptions options = SeckillOptions.defaults().retryFor(Duration.ofMillis(300));
        SeckillClient client = shop.client(options);
        long before = shop.connections();
        CountDownLatch readOnly = new CountDownLatch(1);
        List<CompletableFuture<?>> holders = new ArrayList<>();
        List<SeckillLock> locks = IntStream.range(0, 10).mapToObj(i -> client.lock(
                KEY + i, LockOptions.defaults().session(session))).toList();
        CountDownLatch held = new CountDownLatch(locks.size());
        for (SeckillLock lock : locks) {
            holders.add(Shop.on(() -> {
                lock.lock();
                held.countDown();
                readOnly.await();
                assertThatThrownBy(lock::unlock).isInstanceOf(SeckillException.NotNow.class);
                assertThat(lock.isHeldByCurrentThread()).isFalse();
                assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
                return null;
            }));
        }
        held.await();
        shop.readOnly(true);
        readOnly.countDown();
        for (CompletableFuture<?> holder : holders) {
            holder.get(30, SECONDS);
        }
        // The one for all commands may be new.
        await().until(() -> shop.connections() <= before + 1);
        client.close();
        await().until(() -> shop.connections() == before);
    }

    @Test
    void aLeaseThatBeganInTheLineIsNotCountedFromTheAnswer() throws Exception {
        SeckillClient holder = shop.client(SeckillOptions.defaults());
        holder.lock(KEY).lock();
        SeckillLock brief = shop.client(SeckillOptions.defaults())
                .lock(KEY, LockOptions.defaults().lease(Duration.ofSeconds(2)).renew(false));
        CompletableFuture<Boolean> waiter = Shop.on(() -> {
            brief.lock();
            boolean held = brief.isHeldByCurrentThread();
            brief.unlock();
            return held;
        });
        shop.awaitInLine(1);
        long since = System.nanoTime();
        await().until(() -> System.nanoTime() - since > Duration.ofMillis(500).toNanos());
        assertThat(shop.calls("lock.renew")).isZero();
        holder.lock(KEY).unlock();
        assertThat(waiter.get(30, SECONDS)).isTrue();
        // It was asked for how long it is held from now on.
        assertThat(shop.calls("lock.renew")).isEqualTo(1);
    }
}
