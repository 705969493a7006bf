package shop;

import static io.github.seckill.client.Commands.create;
import static io.github.seckill.client.Commands.info;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillObserver;
import io.github.seckill.client.SeckillOptions;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import io.lettuce.core.api.sync.RedisCommands;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

/** A server, and clients as an application makes them. */
final class OneServer implements AutoCloseable {
    static final SeckillOptions PATIENT =
            SeckillOptions.defaults().retryFor(Duration.ofHours(1));

    final SeckillServer server;
    final RedisClient lettuce;
    private final RedisURI uri;
    final RedisCommands<String, String> plain;
    private final RedisClient plainly;
    private final List<SeckillClient> clients = new ArrayList<>();

    OneServer(String... options) {
        server = SeckillServer.start(options);
        uri = RedisURI.create(server.uri());
        lettuce = RedisClient.create(uri);
        plainly = RedisClient.create(server.uri());
        plain = plainly.connect().sync();
    }

    /** The time-out of the application's own commands, which Lettuce applies to all. */
    void timeOut(Duration timeout, ClientOptions options) {
        uri.setTimeout(timeout);
        lettuce.setOptions(options);
    }

    SeckillClient client(SeckillOptions options, SeckillObserver observer) {
        SeckillClient client =
                new SeckillClient(LettuceTransport.of(lettuce, uri), options, observer);
        clients.add(client);
        return client;
    }

    SeckillClient client(SeckillOptions options) {
        return client(options, SeckillObserver.none());
    }

    /** A client that is connected, and a managed voucher 7. */
    SeckillClient selling(SeckillOptions options, long stock) {
        SeckillClient client = client(options);
        client.run(create("7", stock, SaleRules.none().hold(Duration.ofMinutes(15))));
        assertThat(client.run(info("7")).left()).isEqualTo(stock);
        return client;
    }

    /** As a failover leaves the old primary. */
    void readOnly(boolean is) {
        if (is) {
            plain.replicaof("127.0.0.1", 1);
        } else {
            plain.replicaofNoOne();
        }
    }

    long connections() {
        return plain.clientList().lines().count();
    }

    void awaitInLine(long waiters) throws Exception {
        String field = "seckill_locks_waiting:" + waiters + "\r";
        until(() -> plain.info("seckill").contains(field));
    }

    static void until(Callable<Boolean> holds) throws Exception {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!holds.call()) {
            assertThat(System.nanoTime()).as("in 30 s").isLessThan(end);
            Thread.sleep(5);
        }
    }

    /** Runs it on a thread of its own, which the future's test may interrupt. */
    static <T> CompletableFuture<T> on(Callable<T> work, List<Thread> threads) {
        CompletableFuture<T> done = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            try {
                done.complete(work.call());
            } catch (Throwable failed) {
                done.completeExceptionally(failed);
            }
        });
        thread.setDaemon(true);
        threads.add(thread);
        thread.start();
        return done;
    }

    static <T> CompletableFuture<T> on(Callable<T> work) {
        return on(work, new ArrayList<>());
    }

    /** Waits until it has ended, however. */
    static void ended(List<? extends CompletableFuture<?>> all) throws Exception {
        for (CompletableFuture<?> one : all) {
            one.handle((value, failed) -> "").get(30, TimeUnit.SECONDS);
        }
    }

    @Override
    public void close() {
        clients.forEach(SeckillClient::close);
        lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        plainly.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }
}
