package shop;

import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.*;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import io.micrometer.observation.ObservationRegistry;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.Stream;

/** A server of its own, clients as an application makes them, and what these have told. */
class Shop implements AutoCloseable {
    /** However slow the machine is: the default is a second for each reply. */
    static final SeckillOptions PATIENT = SeckillOptions.defaults()
            .commandTimeout(Duration.ofMinutes(1)).retryFor(Duration.ofHours(1));

    final SeckillServer server;
    final RedisClient lettuce;
    final RedisURI uri;
    final RedisCommands<String, String> plain;
    private final List<SeckillClient> clients = new CopyOnWriteArrayList<>();

    Shop(String program, ProtocolVersion version) {
        server = start(program);
        uri = RedisURI.create(server.uri());
        lettuce = RedisClient.create(uri);
        lettuce.setOptions(ClientOptions.builder().protocolVersion(version).build());
        plain = lettuce.connect(RedisURI.create(server.uri())).sync();
    }

    Shop(String program) {
        this(program, ProtocolVersion.newestSupported());
    }

    Shop() {
        this(SeckillServer.program());
    }

    /** The servers that this machine has: the default one, and those of scripts/servers. */
    static Stream<String> servers() {
        List<String> programs = new ArrayList<>(List.of(SeckillServer.program()));
        if (System.getProperty("seckill.redis-server") == null
                && System.getenv("REDIS_SERVER") == null) {
            Path built = Path.of(SeckillServer.requiredModule()).toAbsolutePath().getParent();
            Stream.of("redis-8.10/redis-server", "valkey-9.1/valkey-server")
                    .map(built.resolveSibling("servers")::resolve).filter(Files::isExecutable)
                    .map(Path::toString).forEach(programs::add);
        }
        return programs.stream();
    }

    static SeckillServer start(String program, String... options) {
        List<String> all = new ArrayList<>(List.of("--loadmodule", SeckillServer.requiredModule()));
        all.addAll(List.of(options));
        return SeckillServer.start(program, all);
    }

    /** A client as of another process: it shares no lock with the others. */
    SeckillClient client(SeckillOptions options) {
        clients.add(SeckillClient.create(lettuce, options.uri(uri)));
        return clients.get(clients.size() - 1);
    }

    /** A client that is connected, and a managed voucher 7, made with more patience. */
    SeckillClient selling(SeckillOptions options, long stock) throws Exception {
        client(PATIENT).create("7", stock, SaleRules.none().hold(Duration.ofMinutes(15)));
        SeckillClient client = client(options);
        awaitAnswer(client, "7");
        return client;
    }

    /** Whatever its time-out is, it is connected, and nothing that is tested waits for that. */
    static void awaitAnswer(SeckillClient client, String voucher) throws Exception {
        await("answered in time").until(() -> {
            try {
                client.info(voucher);
                return true;
            } catch (SeckillException.NotNow | SeckillException.NoAnswer slow) {
                return false;
            }
        });
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

    /** How often the server has run a command. */
    static long calls(RedisCommands<String, String> plain, String command) {
        return plain.info("commandstats").lines()
                .filter(line -> line.startsWith("cmdstat_" + command + ":calls="))
                .mapToLong(line -> Long.parseLong(line.replaceAll(".*:calls=(\\d+),.*", "$1")))
                .sum();
    }

    long calls(String command) {
        return calls(plain, command);
    }

    void awaitInQueue(long waiters) {
        String field = "seckill_locks_waiting:" + waiters + "\r";
        await(waiters + " in the queue").until(() -> plain.info("seckill").contains(field));
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
            one.handle((value, failed) -> "").get(60, TimeUnit.SECONDS);
        }
    }

    /** How many commands its clients have sent again. */
    long repeated() {
        return clients.stream().mapToLong(SeckillClient::repeated).sum();
    }

    @Override
    public void close() {
        clients.forEach(SeckillClient::close);
        lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }
}
