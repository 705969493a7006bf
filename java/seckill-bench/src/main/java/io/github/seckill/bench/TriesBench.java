package io.github.seckill.bench;

import static java.util.concurrent.CompletableFuture.supplyAsync;

import io.github.seckill.client.*;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.listener.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.ToDoubleFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

/**
 * Tries by many threads on one server: the usual script, the same answered natively, tryBuy, tryBuy
 * coalesced, and sold out remembered. Prints the figures of java/README.md, and what it does
 * meanwhile to the standard error.
 *
 * <p>Arguments: the script, and how many seconds each measurement takes. There are 33, and each is
 * preceded by a quarter of that time unmeasured. And how many kills: {@link LocksBench} runs next.
 * Not run by the tests.
 */
final class TriesBench implements AutoCloseable {
    private static final int STOCK = 100_000_000;
    private static final int ROUNDS = 3;

    private final SeckillServer server = SeckillServer.start();
    private final RedisClient lettuce = RedisClient.create(server.uri());
    private final RedisCommands<String, String> plain = lettuce.connect().sync();
    private final LettuceConnectionFactory connections =
            new LettuceConnectionFactory(server.host(), server.port());
    private final StringRedisTemplate template;
    private final AtomicLong users = new AtomicLong();
    private final AtomicLong handled = new AtomicLong();
    private final String script;
    private final double seconds;
    private int threads;

    private TriesBench(String script, double seconds) {
        this.script = script;
        this.seconds = seconds;
        connections.afterPropertiesSet();
        connections.start();
        template = new StringRedisTemplate(connections);
    }

    public static void main(String[] args) throws Exception {
        String script = Files.readString(Path.of(args[0]));
        try (TriesBench bench = new TriesBench(script, Double.parseDouble(args[1]))) {
            bench.purchases();
            bench.tries();
        }
        LocksBench.main(Arrays.copyOfRange(args, 1, args.length));
    }

    private interface Try {
        void buy(String user, String orderId);
    }

    /** What one run has measured. */
    private record Figures(String name, double perSecond, long p50, long p99, double cpuMicros) {}

    private void tries() throws Exception {
        threads = 200;
        SeckillOptions options = SeckillOptions.defaults();
        for (boolean soldOut : new boolean[] {false, true}) {
            List<Figures> all = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                all.add(script("script", soldOut, ""));
                all.add(script(
                        "script, answered natively", soldOut,
                        plain.digest(script) + " SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]"));
                all.add(client("`tryBuy`", soldOut, options.coalescing(Coalescing.OFF), true));
                all.add(client("`tryBuy`, coalesced", soldOut, options, true));
                all.add(client("`tryBuy`, coalesced, id of the server", soldOut, options, false));
                if (soldOut) {
                    all.add(client(
                            "`tryBuy`, coalesced, remembered", true,
                            options.rememberSoldOut(true), true));
                }
            }
            print(soldOut ? "sold out" : "accepted", all);
        }
    }

    private void purchases() throws Exception {
        for (int buyers : new int[] {1, 50}) {
            threads = buyers;
            List<Figures> all = new ArrayList<>();
            for (int round = 0; round < ROUNDS; round++) {
                all.add(withLoop());
                all.add(withListener());
            }
            print("purchase with its consumer, buyers: " + buyers, all);
        }
    }

    /** The usual shop: an id and a script for each purchase, and a loop that reads one order. */
    @SuppressWarnings("unchecked") // a generic array for varargs
    private Figures withLoop() throws Exception {
        reset(false, "");
        DefaultRedisScript<Long> usual = new DefaultRedisScript<>(script, Long.class);
        try (var connection = lettuce.connect()) {
            RedisCommands<String, String> stream = connection.sync();
            launch(() -> {
                while (connection.isOpen()) {
                    stream.xreadgroup(
                            Consumer.from("g1", "c1"), XReadArgs.Builder.block(2_000).count(1),
                            StreamOffset.lastConsumed("stream.orders")).forEach(order -> {
                                stream.xack("stream.orders", "g1", order.getId());
                                handled.incrementAndGet();
                            });
                }
            });
            return measure("script, loop", (user, orderId) -> {
                Long id = template.opsForValue().increment("icr:order:2026:11:22");
                template.execute(usual, List.of(), "7", user, id.toString());
            });
        }
    }

    private Figures withListener() throws Exception {
        reset(false, "");
        DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
        beans.registerSingleton("rows", this);
        OrderListenerOptions defaults = new OrderListenerOptions(
                true, null, "stream.orders", "userId voucherId id", List.of(), 1, 100,
                Duration.ofSeconds(1), Duration.ofSeconds(60), Duration.ofSeconds(1),
                Duration.ofSeconds(60), Duration.ofSeconds(20));
        OrderListenerContainer listener = new OrderListenerContainer(
                beans, () -> connections, defaults, factory -> Duration.ofSeconds(1),
                OrderFailurePolicy.retryForever(), OrderListenerObserver.NONE);
        listener.afterSingletonsInstantiated();
        listener.start();
        try (SeckillClient client = SeckillClient.create(LettuceTransport.of(lettuce))) {
            return measure("`tryBuy`, listener", (user, id) -> client.tryBuy("7", user, id));
        } finally {
            listener.stop();
        }
    }

    @SeckillOrderListener(group = "g1")
    void row(OrderPlaced placed) {
        handled.incrementAndGet();
    }

    /** The median of the rounds of each figure, and the CPU as a ratio to the script's. */
    private static void print(String title, List<Figures> all) {
        System.out.printf(
                "%n| %s | tries/s | p50 (us) | p99 (us) | CPU per try (us) | of the script's |%n"
                        + "| --- | --- | --- | --- | --- | --- |%n", title);
        double base = 0;
        for (String name : all.stream().map(Figures::name).distinct().toList()) {
            List<Figures> rounds =
                    all.stream().filter(figures -> figures.name().equals(name)).toList();
            double cpu = median(rounds, Figures::cpuMicros);
            base = base == 0 ? cpu : base;
            System.out.printf(
                    "| %s | %,.0f | %,.0f | %,.0f | %.3f | %.3f |%n", name,
                    median(rounds, Figures::perSecond), median(rounds, Figures::p50),
                    median(rounds, Figures::p99), cpu, cpu / base);
        }
    }

    private static double median(List<Figures> rounds, ToDoubleFunction<Figures> figure) {
        double[] sorted = rounds.stream().mapToDouble(figure).sorted().toArray();
        return sorted[sorted.length / 2];
    }

    private Figures script(String name, boolean soldOut, String natively) throws Exception {
        reset(soldOut, natively);
        DefaultRedisScript<Long> usual = new DefaultRedisScript<>(script, Long.class);
        return measure(
                name, (user, orderId) -> template.execute(usual, List.of(), "7", user, orderId));
    }

    private Figures client(
            String name, boolean soldOut, SeckillOptions options, boolean ownId) throws Exception {
        reset(soldOut, "");
        AtomicLong sizes = new AtomicLong();
        AtomicLong batches = new AtomicLong();
        SeckillObserver observer = new SeckillObserver() {
            @Override
            public void sent(int size) {
                sizes.addAndGet(size);
                batches.incrementAndGet();
            }
        };
        try (SeckillClient client =
                new SeckillClient(LettuceTransport.of(lettuce), options, observer)) {
            Try own = (user, orderId) -> client.tryBuy("7", user, orderId);
            Figures figures = measure(name, ownId ? own : (user, id) -> client.tryBuy("7", user));
            System.err.printf(
                    "%s, %s: %d tries sent in %d commands%n",
                    name, soldOut ? "sold out" : "accepted", sizes.get(), batches.get());
            return figures;
        }
    }

    private void reset(boolean soldOut, String natively) {
        handled.set(0);
        plain.flushall();
        plain.configSet("seckill.scripts", natively);
        plain.set("seckill:stock:7", soldOut ? "0" : String.valueOf(STOCK));
        plain.xgroupCreate(
                StreamOffset.from("stream.orders", "0"), "g1", XGroupCreateArgs.Builder.mkstream());
    }

    private Figures measure(String name, Try attempt) throws Exception {
        long read = loop(attempt, seconds / 4).length;
        awaitHandled(read);
        double before = cpuSeconds(plain);
        long started = System.nanoTime();
        long[] micros = loop(attempt, seconds);
        double elapsed = (System.nanoTime() - started) / 1e9;
        awaitHandled(read + micros.length);
        double cpu = cpuSeconds(plain) - before;
        Arrays.sort(micros);
        return new Figures(
                name, micros.length / elapsed, micros[micros.length / 2],
                micros[(int) (micros.length * 0.99)], cpu * 1e6 / micros.length);
    }

    /** Where orders are consumed, their consumer has a part in the price. */
    private void awaitHandled(long orders) throws InterruptedException {
        while (handled.get() > 0 && handled.get() < orders) {
            Thread.sleep(1);
        }
    }

    /** How long each try has taken. */
    private long[] loop(Try attempt, double forSeconds) {
        long end = System.nanoTime() + (long) (forSeconds * 1e9);
        List<CompletableFuture<long[]>> parts = IntStream.range(0, threads)
                .mapToObj(i -> supplyAsync(() -> buyUntil(attempt, end), TriesBench::launch))
                .toList();
        return parts.stream().map(CompletableFuture::join).flatMapToLong(Arrays::stream).toArray();
    }

    /** A thread for each piece of work. */
    static void launch(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        thread.start();
    }

    private long[] buyUntil(Try attempt, long end) {
        long[] micros = new long[1_024];
        int count = 0;
        for (long now = System.nanoTime(); now < end; ) {
            String user = Long.toString(users.incrementAndGet());
            attempt.buy(user, user);
            long after = System.nanoTime();
            if (count == micros.length) {
                micros = Arrays.copyOf(micros, 2 * count);
            }
            micros[count] = (after - now) / 1_000;
            count++;
            now = after;
        }
        return Arrays.copyOf(micros, count);
    }

    /** What the server's main thread has used, by the section {@code cpu} of INFO. */
    static double cpuSeconds(RedisCommands<String, String> plain) throws IOException {
        String info = plain.info("cpu");
        return field(info, "used_cpu_user_main_thread") + field(info, "used_cpu_sys_main_thread");
    }

    private static double field(String info, String name) throws IOException {
        Matcher matcher = Pattern.compile(name + ":([0-9.]+)").matcher(info);
        if (!matcher.find()) {
            throw new IOException("no " + name);
        }
        return Double.parseDouble(matcher.group(1));
    }

    @Override
    public void close() {
        connections.destroy();
        lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }
}
