package shop;

import static org.assertj.core.api.Assertions.*;
import static org.mockito.AdditionalAnswers.delegatesTo;
import static org.mockito.Mockito.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.lettuce.core.*;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Locks: the queue, reentrancy, every way to lose one, and who closes their connections. */
class LocksTest {
    private static final String KEY = "lock:report";

    @AutoClose private final Shop shop = new Shop();
    private final RedisCommands<String, String> plain = shop.plain;

    private SeckillClient client() {
        return shop.client(Shop.PATIENT);
    }

    private SeckillLock brief(Duration lease, boolean renew) {
        return client().lock(KEY, LockOptions.defaults().lease(lease).renew(renew));
    }

    /** Completed with the thread whose lock is lost. */
    private static CompletableFuture<Thread> lossOf(SeckillLock lock) {
        CompletableFuture<Thread> lost = new CompletableFuture<>();
        lock.onLost((which, holder) -> lost.complete(holder));
        return lost;
    }

    /** Takes a lock on a thread of its own, and releases it when the test says so. */
    private static final class Holder {
        private final CountDownLatch letGo = new CountDownLatch(1);
        private final CompletableFuture<Long> token = new CompletableFuture<>();
        private final List<Thread> threads = new ArrayList<>();
        private final CompletableFuture<?> ended;

        Holder(SeckillLock lock) {
            ended = Shop.on(() -> {
                lock.lockInterruptibly();
                token.complete(lock.fencingToken());
                letGo.await();
                lock.unlock();
                return null;
            }, threads);
            ended.exceptionally(failed -> {
                token.completeExceptionally(failed);
                return null;
            });
        }

        long token() throws Exception {
            return token.get(60, TimeUnit.SECONDS);
        }

        void end() throws Exception {
            letGo.countDown();
            ended.get(60, TimeUnit.SECONDS);
        }
    }

    @Test
    void a_lock_is_reentrant_and_keeps_others_out() throws Exception {
        SeckillClient client = client();
        SeckillLock lock = client.lock(KEY);
        lock.lock();
        assertThat(client.lock(KEY).tryLock()).isTrue();
        assertThat(lock.holdCount()).isEqualTo(2);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        long token = lock.fencingToken();

        SeckillLock others = client().lock(KEY);
        assertThat(others.tryLock()).isFalse();
        assertThat(others.tryLock(30, TimeUnit.MILLISECONDS)).isFalse();
        assertThat(CompletableFuture.supplyAsync(lock::tryLock).get()).isFalse();

        assertThatThrownBy(() -> CompletableFuture.runAsync(lock::unlock).join())
                .hasCauseInstanceOf(IllegalMonitorStateException.class);
        lock.unlock();
        assertThat(others.tryLock()).isFalse();
        lock.unlock();
        assertThat(lock.holdCount()).isZero();
        assertThat(plain.exists(KEY)).isZero();
        assertThat(plain.ttl(KEY + ":fence")).isGreaterThan(Duration.ofHours(23).toSeconds());
        assertThatThrownBy(lock::unlock).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(lock::fencingToken).isInstanceOf(IllegalMonitorStateException.class);
        assertThatThrownBy(lock::newCondition).isInstanceOf(UnsupportedOperationException.class);

        assertThat(others.tryLock()).isTrue();
        assertThat(others.fencingToken()).isGreaterThan(token);
        others.unlock();
    }

    @Test
    void the_line_keeps_its_order_and_outlives_the_time_out() throws Exception {
        Duration timeout = Duration.ofMillis(100);
        shop.lettuce.setOptions(ClientOptions.builder()
                .timeoutOptions(TimeoutOptions.enabled(timeout)).build());
        SeckillClient holder = client();
        holder.lock(KEY).lock();
        List<Integer> served = new CopyOnWriteArrayList<>();
        List<Long> tokens = new CopyOnWriteArrayList<>();
        List<CompletableFuture<?>> queue = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int number = i;
            SeckillLock lock = client().lock(KEY);
            queue.add(Shop.on(() -> {
                lock.lock();
                served.add(number);
                tokens.add(lock.fencingToken());
                lock.unlock();
                return null;
            }));
            shop.awaitInQueue(i + 1);
        }
        // Several time-outs later nobody has left the queue.
        long calls = shop.calls("lock.acquire");
        long since = System.nanoTime();
        await().until(() -> System.nanoTime() - since > timeout.multipliedBy(5).toNanos());
        assertThat(shop.calls("lock.acquire")).isEqualTo(calls);
        holder.lock(KEY).unlock();
        Shop.ended(queue);
        assertThat(served).containsExactly(0, 1, 2, 3, 4);
        assertThat(tokens).isSorted().doesNotHaveDuplicates();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_refused_release_leaves_no_connection(boolean session) throws Exception {
        SeckillClient client = shop.client(Shop.PATIENT.retryFor(Duration.ofMillis(300)));
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
            holder.get(60, TimeUnit.SECONDS);
        }
        // The one for all commands may be new.
        await().until(() -> shop.connections() <= before + 1);
        client.close();
        await().until(() -> shop.connections() == before);
    }

    @Test
    void a_lease_that_began_in_the_line_is_not_counted_from_the_answer() throws Exception {
        SeckillClient holder = client();
        holder.lock(KEY).lock();
        SeckillLock brief = brief(Duration.ofSeconds(9), false);
        CompletableFuture<Boolean> waiter = Shop.on(() -> {
            brief.lock();
            boolean held = brief.isHeldByCurrentThread();
            brief.unlock();
            return held;
        });
        shop.awaitInQueue(1);
        long since = System.nanoTime();
        await().until(() -> System.nanoTime() - since > Duration.ofSeconds(1).toNanos());
        assertThat(shop.calls("lock.renew")).isZero();
        holder.lock(KEY).unlock();
        assertThat(waiter.get(60, TimeUnit.SECONDS)).isTrue();
        // It was asked for how long it is held from now on.
        assertThat(shop.calls("lock.renew")).isEqualTo(1);
    }

    /** The answer of a grant is lost, and the command that releases it comes late. */
    @Test
    void what_releases_an_unanswered_grant_releases_no_later_one() throws Exception {
        try (Proxy proxy = new Proxy(shop.server);
                RedisClient lettuce = RedisClient.create(proxy.uri());
                SeckillClient client = SeckillClient.create(lettuce, Shop.PATIENT)) {
            CountDownLatch late = new CountDownLatch(1);
            proxy.rule = command -> {
                if (command.get(0).equals("LOCK.RELEASE")) {
                    late.await();
                }
                boolean first = proxy.count("LOCK.ACQUIRE") == 1;
                return first && command.get(0).equals("LOCK.ACQUIRE") ? Proxy.LOSE : null;
            };
            SeckillLock lock = client.lock(KEY);
            assertThat(lock.tryLock(60, TimeUnit.SECONDS)).isTrue();
            assertThat(proxy.count("LOCK.ACQUIRE")).isGreaterThan(1);
            long before = shop.calls("lock.release");
            late.countDown();
            await("released late").until(() -> shop.calls("lock.release") > before);
            assertThat(client().lock(KEY).tryLock()).isFalse();
            lock.unlock();
        }
    }

    /** The longest wait is the operator's to set, and an application's lock() has none. */
    @Test
    void where_only_short_waits_are_allowed_a_longer_one_is_made_of_them() throws Exception {
        plain.configSet("seckill.lock-wait-ms-max", "100");
        Holder first = new Holder(client().lock(KEY));
        first.token();
        Holder next = new Holder(client().lock(KEY));
        await("waits again").until(() -> shop.calls("lock.acquire") > 5);
        assertThat(client().lock(KEY).tryLock(250, TimeUnit.MILLISECONDS)).isFalse();
        first.end();
        next.token();
        next.end();
        plain.configSet("seckill.lock-wait-ms-max", "0");
        Until.fails(() -> client().lock(KEY).lock(), SeckillException.Code.OTHER);
    }

    @Test
    void an_interrupted_waiter_leaves_the_line() throws Exception {
        SeckillLock first = client().lock(KEY);
        first.lock();
        Holder waiter = new Holder(client().lock(KEY));
        shop.awaitInQueue(1);
        waiter.threads.forEach(Thread::interrupt);
        assertThatThrownBy(waiter::token)
                .isInstanceOf(ExecutionException.class)
                .hasCauseInstanceOf(InterruptedException.class);
        shop.awaitInQueue(0);
        first.unlock();
        assertThat(plain.exists(KEY)).isZero();
    }

    @Test
    void a_lease_is_renewed_as_long_as_the_lock_is_held() throws Exception {
        SeckillLock lock = brief(Duration.ofSeconds(12), true);
        lock.lock();
        long token = lock.fencingToken();
        await("a part of the lease is over").until(() -> plain.pttl(KEY) < 11_000);
        await("the lease is renewed").until(() -> plain.pttl(KEY) > 11_500);
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        assertThat(lock.fencingToken()).isEqualTo(token);
        lock.unlock();
    }

    @Test
    void a_lease_that_ends_is_told() throws Exception {
        SeckillLock lock = brief(Duration.ofMillis(150), false);
        CompletableFuture<Thread> lost = lossOf(lock);
        lock.lock();
        SeckillLock others = client().lock(KEY);
        assertThat(others.tryLock(60, TimeUnit.SECONDS)).isTrue();
        assertThat(lost.get(60, TimeUnit.SECONDS)).isSameAs(Thread.currentThread());
        assertThat(lock.isHeldByCurrentThread()).isFalse();
        assertThatThrownBy(lock::tryLock).isInstanceOf(SeckillException.LockLost.class)
                .hasMessageContaining("only after unlock()");
        assertThatThrownBy(lock::unlock).isInstanceOf(SeckillException.LockLost.class);
        assertThat(others.isHeldByCurrentThread()).isTrue();
        others.unlock();
        assertThat(lock.tryLock()).isTrue();
    }

    @Test
    void a_lost_connection_frees_the_lock_and_is_told() throws Exception {
        SeckillLock lock = client().lock(KEY);
        lock.onLost((which, holder) -> {
            throw new AssertionError("a listener that throws");
        });
        CompletableFuture<Thread> lost = lossOf(lock);
        lock.lock();
        Holder next = new Holder(client().lock(KEY));
        shop.awaitInQueue(1);
        // All connections but this one and the waiter's, which is blocked and asks again.
        plain.clientKill(KillArgs.Builder.typeNormal().skipme());
        assertThat(lost.get(60, TimeUnit.SECONDS)).isSameAs(Thread.currentThread());
        next.token();
        assertThatThrownBy(lock::unlock).isInstanceOf(SeckillException.LockLost.class);
        next.end();
    }

    @Test
    void without_a_session_the_lock_outlives_its_connection() throws Exception {
        LockOptions untied = LockOptions.defaults().session(false);
        SeckillLock lock = client().lock(KEY, untied);
        lock.lock();
        plain.clientKill(KillArgs.Builder.typeNormal().skipme());
        assertThat(client().lock(KEY).tryLock()).isFalse();
        assertThat(lock.isHeldByCurrentThread()).isTrue();
        lock.unlock();
        await("released").until(() -> plain.exists(KEY) == 0);
    }

    @Test
    void another_thread_releases_by_the_token_and_no_fence_is_left() throws Exception {
        SeckillClient client = client();
        assertThat(client.acquire(KEY, "one", Duration.ofHours(1))).isTrue();
        assertThat(client.acquire(KEY, "two", Duration.ofHours(1))).isFalse();
        assertThat(client.release(KEY, "two")).isFalse();
        assertThat(CompletableFuture.supplyAsync(() -> client.release(KEY, "one")).get()).isTrue();
        SeckillLock unfenced = client.lock(KEY, LockOptions.defaults().fenced(false));
        unfenced.lock();
        assertThatThrownBy(unfenced::fencingToken).hasMessageContaining("no fencing tokens");
        unfenced.unlock();
        assertThat(plain.exists(KEY, KEY + ":fence")).isZero();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_closed_client_holds_no_lock(boolean session) {
        SeckillClient client = client();
        client.lock(KEY, LockOptions.defaults().session(session)).lock();
        client.close();
        assertThat(client().lock(KEY).tryLock()).isTrue();
    }

    @Test
    void a_lock_of_a_thread_that_has_ended_is_not_renewed() throws Exception {
        SeckillLock lock = brief(Duration.ofMillis(500), true);
        CompletableFuture<Thread> lost = lossOf(lock);
        Thread careless = new Thread(lock::lock);
        careless.start();
        careless.join();
        assertThat(client().lock(KEY).tryLock(60, TimeUnit.SECONDS)).isTrue();
        assertThat(lost.get(60, TimeUnit.SECONDS)).isSameAs(careless);
    }

    @Test
    void a_renewal_that_finds_another_holder_is_told() throws Exception {
        SeckillLock lock = brief(Duration.ofMillis(600), true);
        CompletableFuture<Thread> lost = lossOf(lock);
        lock.lock();
        plain.set(KEY, "somebody else");
        lost.get(60, TimeUnit.SECONDS);
        assertThatThrownBy(lock::unlock).isInstanceOf(SeckillException.LockLost.class);
        assertThat(plain.get(KEY)).isEqualTo("somebody else");
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void a_frozen_server_is_no_lock_and_keeps_none(boolean session) throws Exception {
        LockOptions options = LockOptions.defaults().session(session).lease(Duration.ofHours(1));
        SeckillLock lock = shop.client(SeckillOptions.defaults()).lock(KEY, options);
        assertThat(lock.tryLock(60, TimeUnit.SECONDS)).isTrue();
        lock.unlock();
        shop.server.freeze();
        assertThatThrownBy(() -> lock.tryLock(100, TimeUnit.MILLISECONDS))
                .isInstanceOf(SeckillException.class);
        shop.server.thaw();
        // What the server grants late is released right behind it.
        assertThat(client().lock(KEY).tryLock(60, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void a_holder_that_is_killed_frees_the_lock_at_once() throws Exception {
        Process holder = new ProcessBuilder(
                        System.getProperty("java.home") + "/bin/java",
                        "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                        Forever.class.getName(), shop.server.uri(), KEY)
                .redirectErrorStream(true)
                .redirectOutput(shop.server.folder().resolve("holder").toFile()).start();
        try {
            await("held by the other process").until(() -> plain.exists(KEY) == 1);
            SeckillLock lock = client().lock(KEY);
            Holder waiter = new Holder(lock);
            shop.awaitInQueue(1);
            long leaseMs = plain.pttl(KEY);
            assertThat(leaseMs).isGreaterThan(60_000);
            holder.destroyForcibly();
            waiter.token();
            waiter.end();
        } finally {
            holder.destroyForcibly().waitFor();
        }
    }

    /** A process that takes a lock and never releases it. */
    static final class Forever {
        public static void main(String[] args) throws InterruptedException {
            RedisClient lettuce = RedisClient.create(args[0]);
            SeckillClient client = SeckillClient.create(lettuce, Shop.PATIENT);
            client.lock(args[1], LockOptions.defaults().lease(Duration.ofHours(1))).lock();
            new CountDownLatch(1).await();
        }
    }
}
