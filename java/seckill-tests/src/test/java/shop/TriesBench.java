package shop;

import com.sun.management.OperatingSystemMXBean;
import io.github.seckill.client.*;
import io.github.seckill.spring.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import io.micrometer.core.instrument.observation.DefaultMeterObservationHandler;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicLong;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.*;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import shop.documented.Pages;

/**
 * Tries by many threads on one server: seckill.lua by StringRedisTemplate, tryBuy, tryBuy
 * coalesced, and both with their consumers. Prints the tables of java/README.md: medians of rounds
 * in turn, and ratios to the script's.
 *
 * <p>The property {@code seconds} says how long each measurement takes, which is preceded by a
 * quarter of that time unmeasured. Run by its name alone, as it ends in no Test.
 */
class TriesBench {
    private static final int STOCK = 100_000_000;
    /** Of which the first is not counted: what runs in it is compiled then. */
    private static final int ROUNDS = 6;
    private static final OperatingSystemMXBean OWN =
            (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final SeckillServer server = SeckillServer.start();
    private final RedisClient lettuce = RedisClient.create(server.uri());
    private final RedisCommands<String, String> plain = lettuce.connect().sync();
    private final LettuceConnectionFactory connections =
            new LettuceConnectionFactory(server.host(), server.port());
    private final StringRedisTemplate template;
    private final AtomicLong users = new AtomicLong();
    private final AtomicLong handled = new AtomicLong();
    /** CPU per try in each round, by what was measured. */
    private final Map<String, List<Cpu>> figures = new LinkedHashMap<>();
    private final DefaultRedisScript<Long> script;
    private final double seconds = Double.parseDouble(System.getProperty("seconds", "2"));
    private int threads;

    TriesBench() throws IOException {
        script = new DefaultRedisScript<>(Files.readString(Pages.ROOT.resolve(
                "examples/java-spring/src/main/resources/seckill.lua")), Long.class);
        connections.afterPropertiesSet();
        connections.start();
        template = new StringRedisTemplate(connections);
    }

    @Test
    void printsTheTables() throws Exception {
        purchases();
        tries();
    }

    /** Microseconds of the server's main thread, and of this virtual machine. */
    private record Cpu(double server, double here) {}

    private interface Attempt {
        void buy(String user, String orderId);
    }

    private void tries() throws Exception {
        threads = 50;
        SeckillOptions options = SeckillOptions.defaults();
        ObservationRegistry observed = ObservationRegistry.create();
        observed.observationConfig().observationHandler(
                new DefaultMeterObservationHandler(new SimpleMeterRegistry()));
        for (boolean soldOut : new boolean[] {false, true}) {
            for (int round = 0; round < ROUNDS; round++) {
                reset(soldOut);
                measure("script", (user, id) ->
                        template.execute(script, List.of(), "7", user, id));
                client("`tryBuy`", soldOut, options.coalescing(false));
                client("`tryBuy`, coalesced", soldOut, options);
                client("`tryBuy`, coalesced, observed", soldOut, options.observations(observed));
            }
            print((soldOut ? "sold out" : "accepted") + ", threads: " + threads);
        }
    }

    private void purchases() throws Exception {
        threads = 8;
        for (int round = 0; round < ROUNDS; round++) {
            withLoop();
            withListener();
        }
        print("purchase with its consumer, buyers: " + threads);
    }

    /** The usual shop: an id and a script for each purchase, and a loop that reads one order. */
    @SuppressWarnings("unchecked") // a generic array for varargs
    private void withLoop() throws Exception {
        reset(false);
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
            measure("script, loop", (user, orderId) -> {
                Long id = template.opsForValue().increment("icr:order:2026:11:22");
                template.execute(script, List.of(), "7", user, id.toString());
            });
        }
    }

    private void withListener() throws Exception {
        reset(false);
        try (var context = new AnnotationConfigApplicationContext()) {
            context.registerBean(LettuceConnectionFactory.class, () ->
                    new LettuceConnectionFactory(server.host(), server.port()));
            context.getBeanFactory().registerSingleton("rows", this);
            context.register(SeckillAutoConfiguration.class);
            context.refresh();
            SeckillClient client = context.getBean(SeckillClient.class);
            measure("`tryBuy`, listener", (user, id) -> client.tryBuy("7", user, id));
        }
    }

    @SeckillOrderListener(group = "g1")
    void row(OrderEvent.OrderPlaced placed) {
        handled.incrementAndGet();
    }

    /** The median of the rounds, and as a ratio to the script's, which is the first. */
    private void print(String title) {
        System.out.printf(
                "%n| %s | CPU of the server per try (us) | of the script's | of the client (us)"
                        + " | of the script's |%n| --- | --- | --- | --- | --- |%n", title);
        Cpu base = median(figures.values().iterator().next());
        figures.forEach((name, rounds) -> {
            Cpu cpu = median(rounds);
            System.out.printf(
                    "| %s | %.2f | %.2f | %.2f | %.2f |%n", name, cpu.server(),
                    cpu.server() / base.server(), cpu.here(), cpu.here() / base.here());
        });
        figures.clear();
    }

    private static Cpu median(List<Cpu> rounds) {
        return new Cpu(
                middle(rounds.stream().map(Cpu::server).toList()),
                middle(rounds.stream().map(Cpu::here).toList()));
    }

    private static double middle(List<Double> rounds) {
        return rounds.stream().sorted().toList().get(rounds.size() / 2);
    }

    private void client(String name, boolean soldOut, SeckillOptions options) throws Exception {
        reset(soldOut);
        try (SeckillClient client = SeckillClient.create(lettuce, options)) {
            measure(name, (user, orderId) -> client.tryBuy("7", user, orderId));
        }
    }

    private void reset(boolean soldOut) {
        handled.set(0);
        plain.flushall();
        plain.set("seckill:stock:7", soldOut ? "0" : String.valueOf(STOCK));
        plain.xgroupCreate(
                StreamOffset.from("stream.orders", "0"), "g1", XGroupCreateArgs.Builder.mkstream());
    }

    private void measure(String name, Attempt attempt) throws Exception {
        long before = loop(attempt, seconds / 4);
        awaitHandled(before);
        double server = cpuSeconds(plain);
        long here = OWN.getProcessCpuTime();
        long tries = loop(attempt, seconds);
        awaitHandled(before + tries);
        Cpu cpu = new Cpu(
                (cpuSeconds(plain) - server) * 1e6 / tries,
                (OWN.getProcessCpuTime() - here) / 1e3 / tries);
        List<Cpu> rounds = figures.get(name);
        if (rounds == null) {
            figures.put(name, new ArrayList<>());
        } else {
            rounds.add(cpu);
        }
    }

    /** Where orders are consumed, their consumer has a part in the price. */
    private void awaitHandled(long orders) throws InterruptedException {
        while (handled.get() > 0 && handled.get() < orders) {
            Thread.sleep(1);
        }
    }

    /** How many tries all threads have made. */
    private long loop(Attempt attempt, double forSeconds) {
        long end = System.nanoTime() + (long) (forSeconds * 1e9);
        List<CompletableFuture<Long>> parts = IntStream.range(0, threads)
                .mapToObj(i -> CompletableFuture.supplyAsync(() -> {
                    long tries = 0;
                    for (; System.nanoTime() < end; tries++) {
                        String user = Long.toString(users.incrementAndGet());
                        attempt.buy(user, user);
                    }
                    return tries;
                }, TriesBench::launch)).toList();
        return parts.stream().mapToLong(CompletableFuture::join).sum();
    }

    /** A thread for each piece of work, a virtual one where the JDK has them. */
    private static void launch(Runnable work) {
        try {
            Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
        } catch (ReflectiveOperationException older) {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            thread.start();
        }
    }

    /** What the server's main thread has used, by the section {@code cpu} of INFO. */
    private static double cpuSeconds(RedisCommands<String, String> plain) throws IOException {
        return Pattern.compile("used_cpu_(user|sys)_main_thread:([0-9.]+)")
                .matcher(plain.info("cpu")).results()
                .mapToDouble(found -> Double.parseDouble(found.group(2))).sum();
    }

    @AfterEach
    void close() {
        connections.destroy();
        lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }
}
