package io.github.seckill.bench;

import static java.util.concurrent.CompletableFuture.runAsync;
import static java.util.concurrent.CompletableFuture.supplyAsync;

import io.github.seckill.client.LockOptions;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import java.util.stream.LongStream;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A lock that is handed from thread to thread, by Redisson's two locks and by this library, and how
 * long a waiter waits after its holder was killed. A hand-over is an acquisition by another thread
 * than the one before: a lock that is not fair is often taken again by the thread that released it.
 *
 * <p>Arguments: how many seconds of handing over, how many kills of this library's holder and of
 * Redisson's. Not run by the tests.
 */
final class LocksBench {
    private static final int THREADS = 8;

    private LocksBench() {}

    public static void main(String[] args) throws Exception {
        if (args[0].equals("hold")) {
            hold(args[1], args[2]);
            return;
        }
        double seconds = Double.parseDouble(args[0]);
        int kills = Integer.parseInt(args[1]);
        int redissonKills = Integer.parseInt(args[2]);
        try (SeckillServer server = SeckillServer.start();
                RedisClient lettuce = RedisClient.create(server.uri());
                Locker redisson = Locker.of("redisson", server.uri());
                Locker fair = Locker.of("fair", server.uri());
                Locker seckill = Locker.of("seckill", server.uri())) {
            RedisCommands<String, String> plain = lettuce.connect().sync();
            List<Locker> round = List.of(redisson, fair, seckill);
            for (int i = 0; i < 2; i++) {
                for (Locker locker : round) {
                    System.out.println(locker.name() + " " + handOvers(plain, locker, seconds));
                }
            }
            afterKill(server, seckill, kills);
            afterKill(server, redisson, redissonKills);
        }
    }

    /** A library and one of its locks. */
    private record Locker(String name, Function<String, Lock> locks, Runnable end)
            implements AutoCloseable {
        static Locker of(String name, String uri) {
            if (!name.equals("seckill")) {
                Config config = new Config();
                config.useSingleServer().setAddress(uri);
                RedissonClient client = Redisson.create(config);
                Function<String, Lock> locks = name.equals("fair")
                        ? key -> client.getFairLock("f:" + key)
                        : key -> client.getLock("r:" + key);
                return new Locker(name, locks, client::shutdown);
            }
            RedisClient lettuce = RedisClient.create(uri);
            SeckillClient client = SeckillClient.create(LettuceTransport.of(lettuce));
            LockOptions options = LockOptions.defaults().lease(Duration.ofHours(1));
            return new Locker(name, key -> client.lock(key, options), () -> {
                client.close();
                lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
            });
        }

        @Override
        public void close() {
            end.run();
        }
    }

    private static String handOvers(
            RedisCommands<String, String> plain, Locker locker, double seconds) throws IOException {
        AtomicLong handOvers = new AtomicLong();
        AtomicLong last = new AtomicLong(-1);
        double cpu = TriesBench.cpuSeconds(plain);
        long started = System.nanoTime();
        long end = started + (long) (seconds * 1e9);
        List<CompletableFuture<Void>> threads = LongStream.range(0, THREADS)
                .mapToObj(number -> runAsync(() -> {
                    Lock lock = locker.locks().apply("handed");
                    while (System.nanoTime() < end) {
                        lock.lock();
                        if (last.getAndSet(number) != number) {
                            handOvers.incrementAndGet();
                        }
                        lock.unlock();
                    }
                }, TriesBench::launch)).toList();
        threads.forEach(CompletableFuture::join);
        double took = (System.nanoTime() - started) / 1e9;
        double micros = (TriesBench.cpuSeconds(plain) - cpu) * 1e6 / handOvers.get();
        return String.format(
                "%.0f hand-overs/s by %d threads, %.1f us of CPU each",
                handOvers.get() / took, THREADS, micros);
    }

    private static void hold(String name, String uri) throws InterruptedException {
        Locker.of(name, uri).locks().apply("killed").lock();
        System.out.println("held");
        new CountDownLatch(1).await();
    }

    private static void afterKill(SeckillServer server, Locker locker, int kills) throws Exception {
        List<Double> millis = new ArrayList<>();
        for (int i = 0; i < kills; i++) {
            Process holder = new ProcessBuilder(
                            System.getProperty("java.home") + "/bin/java",
                            "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                            LocksBench.class.getName(), "hold", locker.name(), server.uri())
                    .redirectError(ProcessBuilder.Redirect.DISCARD).start();
            holder.inputReader().lines().anyMatch("held"::equals);
            CountDownLatch waits = new CountDownLatch(1);
            CompletableFuture<Long> got = supplyAsync(() -> {
                Lock lock = locker.locks().apply("killed");
                waits.countDown();
                lock.lock();
                long now = System.nanoTime();
                lock.unlock();
                return now;
            }, TriesBench::launch);
            waits.await();
            Thread.sleep(200); // Long enough to be in line.
            long killed = System.nanoTime();
            holder.destroyForcibly();
            millis.add((got.join() - killed) / 1e6);
            holder.waitFor();
        }
        System.out.printf(
                "%-9s after kill -9 of the holder, %d times: p50 %.1f ms%n",
                locker.name(), kills, TriesBench.middle(millis));
    }
}
