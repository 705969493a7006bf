package io.github.seckill.bench;

import io.github.seckill.client.LockOptions;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import java.io.BufferedReader;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.Lock;
import java.util.function.Function;
import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A lock that is handed from thread to thread, by Redisson and by this library, and how long a
 * waiter waits after its holder was killed.
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
                Locker redisson = Locker.of("redisson", server.uri());
                Locker seckill = Locker.of("seckill", server.uri())) {
            for (Locker locker : List.of(redisson, seckill, redisson, seckill)) {
                System.out.printf(
                        "%-9s %8.0f hand-overs/s by %d threads%n",
                        locker.name(), handOvers(locker, seconds), THREADS);
            }
            afterKill(server, seckill, kills);
            afterKill(server, redisson, redissonKills);
        }
    }

    /** Either library. */
    private record Locker(String name, Function<String, Lock> locks, Runnable end)
            implements AutoCloseable {
        static Locker of(String name, String uri) {
            if (name.equals("redisson")) {
                Config config = new Config();
                config.useSingleServer().setAddress(uri);
                RedissonClient client = Redisson.create(config);
                return new Locker(name, key -> client.getLock("r:" + key), client::shutdown);
            }
            RedisClient lettuce = RedisClient.create(uri);
            SeckillClient client = SeckillClient.create(LettuceTransport.of(lettuce));
            LockOptions options = LockOptions.defaults().lease(Duration.ofHours(1));
            return new Locker(
                    name,
                    key -> client.lock(key, options),
                    () -> {
                        client.close();
                        lettuce.shutdown(Duration.ZERO, Duration.ofSeconds(2));
                    });
        }

        @Override
        public void close() {
            end.run();
        }
    }

    private static double handOvers(Locker locker, double seconds) throws InterruptedException {
        AtomicLong count = new AtomicLong();
        CountDownLatch done = new CountDownLatch(THREADS);
        long started = System.nanoTime();
        long end = started + (long) (seconds * 1e9);
        for (int i = 0; i < THREADS; i++) {
            Thread thread =
                    new Thread(
                            () -> {
                                Lock lock = locker.locks().apply("handed");
                                while (System.nanoTime() < end) {
                                    lock.lock();
                                    count.incrementAndGet();
                                    lock.unlock();
                                }
                                done.countDown();
                            });
            thread.start();
        }
        done.await();
        return count.get() / ((System.nanoTime() - started) / 1e9);
    }

    private static void hold(String name, String uri) throws InterruptedException {
        Locker.of(name, uri).locks().apply("killed").lock();
        System.out.println("held");
        new CountDownLatch(1).await();
    }

    private static void afterKill(SeckillServer server, Locker locker, int kills)
            throws Exception {
        List<Double> millis = new ArrayList<>();
        for (int i = 0; i < kills; i++) {
            Process holder =
                    new ProcessBuilder(
                                    System.getProperty("java.home") + "/bin/java",
                                    "-XX:TieredStopAtLevel=1",
                                    "-cp",
                                    System.getProperty("java.class.path"),
                                    LocksBench.class.getName(),
                                    "hold",
                                    locker.name(),
                                    server.uri())
                            .redirectError(ProcessBuilder.Redirect.DISCARD)
                            .start();
            awaitHeld(holder);
            CountDownLatch waits = new CountDownLatch(1);
            AtomicLong got = new AtomicLong();
            Thread waiter =
                    new Thread(
                            () -> {
                                Lock lock = locker.locks().apply("killed");
                                waits.countDown();
                                lock.lock();
                                got.set(System.nanoTime());
                                lock.unlock();
                            });
            waiter.start();
            waits.await();
            Thread.sleep(200); // Long enough to be in line.
            long killed = System.nanoTime();
            holder.destroyForcibly();
            waiter.join();
            millis.add((got.get() - killed) / 1e6);
            holder.waitFor();
        }
        Collections.sort(millis);
        System.out.printf(
                "%-9s after kill -9 of the holder, %d times: p50 %.1f ms, p99 %.1f ms%n",
                locker.name(),
                kills,
                millis.get(millis.size() / 2),
                millis.get((int) (millis.size() * 0.99)));
    }

    private static void awaitHeld(Process holder) throws IOException {
        BufferedReader printed = holder.inputReader();
        String line;
        do {
            line = printed.readLine();
        } while (line != null && !line.equals("held"));
    }
}
