package shop.documented;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.redisson.Redisson;
import org.redisson.api.RScript;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.StreamOperations;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;

/** An instance of a shop with a script. Its consumers are threads of it, and so are its buyers. */
final class OldShop {
    static final String ORDERS = "stream.orders";
    static final String PAID = "stream.orders.confirmed";
    /** In the place of a message queue: what is in it is delivered until it is acknowledged. */
    static final String QUEUE = "queue";

    /** Its ids count from another date and under another name than the usual ones. */
    static final long EPOCH = Instant.parse("2020-01-01T00:00:00Z").getEpochSecond();
    static final String PREFIX = "voucher";

    private final LettuceConnectionFactory connections;
    private final StringRedisTemplate redis;
    private final StreamOperations<String, String, String> streams;
    private final @Nullable RedissonClient redisson;
    private final Version version;
    private final String name;
    private final PrintStream log;
    private final OrderTable table;
    private final List<Thread> consumers;
    private final Buyers buyers;
    private volatile boolean over;

    OldShop(Version version, int port, String name, String database, PrintStream log) {
        this.version = version;
        this.name = name;
        this.log = log;
        table = OrderTable.at(database);
        connections = new LettuceConnectionFactory("127.0.0.1", port);
        connections.afterPropertiesSet();
        connections.start();
        redis = new StringRedisTemplate(connections);
        streams = redis.opsForStream();
        Config config = new Config();
        config.useSingleServer().setAddress("redis://127.0.0.1:" + port)
                .setConnectionPoolSize(4).setConnectionMinimumIdleSize(1);
        redisson = version.keys ? Redisson.create(config) : null;
        consumers = version.streams.stream().map(from -> new Thread(() -> consume(from))).toList();
        consumers.forEach(Thread::start);
        buyers = new Buyers(redis, this::buy);
    }

    static PrintStream log(Path file) throws IOException {
        return new PrintStream(new FileOutputStream(file.toFile(), true), true);
    }

    /** One that is killed. */
    public static void main(String[] arguments) throws IOException {
        new OldShop(
                Version.valueOf(arguments[0]), Integer.parseInt(arguments[1]), arguments[2],
                arguments[3], log(Path.of(arguments[4])));
    }

    /** What is deployed: the script, and what its consumers read. */
    enum Version {
        STREAM(false, true, ORDERS),
        STREAM_PAID(false, true, PAID),
        REDISSON(true, true, ORDERS),
        REDISSON_PAID(true, true, PAID),
        QUEUED(false, false, QUEUE),
        /** Passes order ids, and what reads orders and payments sends the messages. */
        QUEUED_PAID(false, true, QUEUE, ORDERS, PAID);

        final DefaultRedisScript<Long> script;
        final boolean keys;
        final boolean id;
        final List<String> streams;

        Version(boolean keys, boolean id, String... streams) {
            this.keys = keys;
            this.id = id;
            this.streams = List.of(streams);
            script = new DefaultRedisScript<>(text(), Long.class);
        }

        private String text() {
            try {
                String usual = Files.readString(Pages.ROOT.resolve(
                        "examples/java-spring/src/main/resources/seckill.lua"));
                if (keys) {
                    return usual.replaceFirst("stock = .*", "stock = KEYS[1]")
                            .replaceFirst("buyers = .*", "buyers = KEYS[2]")
                            .replace("'stream.orders'", "KEYS[3]");
                }
                return id ? usual : usual.replaceFirst("redis.call.'XADD.*", "");
            } catch (IOException missing) {
                throw new UncheckedIOException(missing);
            }
        }

        /** Of seckill.scripts. Where the application passes no order id there is a constant. */
        String line() {
            return script.getSha1() + " SECKILL.TRY ARGV[1] ARGV[2] " + (id ? "ARGV[3]" : "none");
        }
    }

    private long nextId() {
        String day = LocalDate.now(ZoneOffset.UTC).toString().replace('-', ':');
        Long count = redis.opsForValue().increment("icr:" + PREFIX + ":" + day);
        return Instant.now().getEpochSecond() - EPOCH << 32 | count;
    }

    private void buy(String voucher, String user) {
        String order = String.valueOf(nextId());
        log.println("tries " + voucher + " " + user + " " + order);
        Object[] arguments = {voucher, user, order};
        Long outcome = redisson == null
                ? redis.execute(version.script, List.of(), arguments)
                : redisson.getScript(StringCodec.INSTANCE).eval(
                        RScript.Mode.READ_WRITE, version.script.getScriptAsString(),
                        RScript.ReturnType.VALUE,
                        List.of("seckill:stock:" + voucher, "seckill:order:" + voucher, ORDERS),
                        arguments);
        if (outcome == 0 && !version.id) {
            send(Map.of("userId", user, "voucherId", voucher, "id", order));
        }
        String told = outcome == 0 ? "sold " : "refused ";
        log.println(told + voucher + " " + user + " " + order);
    }

    private void send(Map<String, String> order) {
        streams.add(QUEUE, order);
    }

    /** The usual loop: after a failure it reads what it has not acknowledged. */
    @SuppressWarnings("unchecked") // of Spring's varargs
    private void consume(String stream) {
        ReadOffset from = ReadOffset.lastConsumed();
        while (!over) {
            try {
                List<MapRecord<String, String, String>> records = streams.read(
                        Consumer.from("g1", name),
                        StreamReadOptions.empty().count(1).block(Duration.ofMillis(500)),
                        StreamOffset.create(stream, from));
                if (records == null || records.isEmpty()) {
                    from = ReadOffset.lastConsumed();
                    continue;
                }
                Map<String, String> order = records.get(0).getValue();
                if (version.streams.get(0).equals(stream)) {
                    table.insert(order.get("id"), order.get("userId"), order.get("voucherId"));
                } else if (!order.containsKey("deadline")) {
                    send(order);
                }
                streams.acknowledge("g1", records.get(0));
            } catch (RuntimeException failed) {
                from = ReadOffset.from("0");
            }
        }
    }

    void stop() throws InterruptedException {
        buyers.stop();
        over = true;
        for (Thread consumer : consumers) {
            consumer.join();
        }
        table.close();
        connections.destroy();
        if (redisson != null) {
            redisson.shutdown();
        }
    }
}
