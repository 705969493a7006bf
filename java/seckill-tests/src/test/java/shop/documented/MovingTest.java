package shop.documented;

import static io.github.seckill.client.Commands.adopt;
import static io.github.seckill.client.Commands.audit;
import static io.github.seckill.client.Commands.info;
import static io.github.seckill.client.Commands.order;
import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.OrderRef;
import io.github.seckill.client.OrderState;
import io.github.seckill.client.Purchase.Accepted;
import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.*;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.h2.tools.Server;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.core.env.Environment;
import org.springframework.data.redis.core.StringRedisTemplate;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.util.SafeEncoder;
import shop.Application;
import shop.documented.OldShop.Version;

/**
 * A shop moves from its script to the library and back as docs/moving.md says, while it sells. What
 * its buyers were told is compared with the rows by order id. Tests of the worker walk its step.
 */
@EnabledIf("shop.documented.Pages#areHere")
class MovingTest {
    private static final String STOCK = "1000000";

    @TempDir private Path folder;
    @AutoClose private final SeckillServer server = SeckillServer.start(
            SeckillServer.program(), List.of("--enable-module-command", "yes"));
    @AutoClose private final Jedis operator =
            new Jedis(server.host(), server.port(), 60_000);
    @AutoClose private final RedisClient lettuce = RedisClient.create(server.uri());
    @AutoClose private final SeckillClient seckill =
            SeckillClient.create(LettuceTransport.of(lettuce));
    private final Instant started = Instant.now().truncatedTo(ChronoUnit.SECONDS);
    private final Set<String> cancelled = new HashSet<>();
    private final Deque<AutoCloseable> instances = new ArrayDeque<>();
    private Server database;
    private String url;
    private OrderTable table;
    private String page;

    /** The new version. */
    @EnableAutoConfiguration
    static class NewShop {
        private final SeckillClient seckill;
        private final OrderTable table;
        private final PrintStream log;
        volatile boolean isDown;

        NewShop(SeckillClient seckill, Environment environment) throws IOException {
            this.seckill = seckill;
            table = OrderTable.at(environment.getRequiredProperty("shop.database"));
            log = OldShop.log(Path.of(environment.getRequiredProperty("shop.log")));
        }

        void buy(String voucher, String user) {
            if (seckill.tryBuy(voucher, user) instanceof Accepted accepted) {
                log.println("sold " + voucher + " " + user + " " + accepted.orderId());
            }
        }

        @SeckillOrderListener(group = "g1")
        void row(OrderPlaced placed) {
            if (isDown) {
                throw new IllegalStateException("the database is down");
            }
            OrderRef order = placed.order();
            table.insert(order.orderId(), order.user(), order.voucher());
        }
    }

    @BeforeEach
    void open() throws Exception {
        page = Files.readString(Pages.ROOT.resolve("docs/moving.md"));
        database = Server.createTcpServer("-tcpPort", "0", "-ifNotExists").start();
        url = "jdbc:h2:tcp://localhost:" + database.getPort() + "/mem:" + folder.getFileName() + ";DB_CLOSE_DELAY=-1";
        table = OrderTable.at(url);
        table.run("CREATE TABLE tb_voucher_order (id BIGINT PRIMARY KEY, user_id BIGINT NOT NULL,"
                + " voucher_id BIGINT NOT NULL, status INT DEFAULT 1)");
    }

    @AfterEach
    void close() throws Exception {
        stopAll();
        database.stop();
    }

    private Object run(String line) {
        String[] words = line.split(" ");
        byte[] name = SafeEncoder.encode(words[0]);
        return SafeEncoder.encodeObject(operator.sendCommand(
                () -> name, Arrays.copyOfRange(words, 1, words.length)));
    }

    /** A line of the page. */
    private String typed(String line) {
        assertThat(page).contains(line);
        return line;
    }

    private void answerNatively(String line) {
        assertThat(operator.configSet("seckill.scripts", line)).isEqualTo("OK");
    }

    private Path log(String name) {
        return folder.resolve(name + ".log");
    }

    private void start(Version version, String name) throws IOException {
        instances.add(
                new OldShop(version, server.port(), name, url, OldShop.log(log(name)))::stop);
    }

    private NewShop startNew(String name) {
        var context = Application.run(
                NewShop.class, server, "shop.database=" + url, "shop.log=" + log(name));
        NewShop shop = context.getBean(NewShop.class);
        Buyers buyers = new Buyers(context.getBean(StringRedisTemplate.class), shop::buy);
        instances.add(() -> {
            buyers.stop();
            context.close();
        });
        return shop;
    }

    private void stopOldest() throws Exception {
        instances.remove().close();
    }

    private void stopAll() throws Exception {
        while (!instances.isEmpty()) {
            stopOldest();
        }
    }

    /** What buyers were told, by whatever instance: voucher, user, order. */
    private List<String[]> told(String word, String voucher) throws IOException {
        List<String[]> told = new ArrayList<>();
        try (Stream<Path> logs = Files.list(folder)) {
            for (Path log : logs.filter(file -> file.toString().endsWith(".log")).toList()) {
                Files.readAllLines(log).stream().map(line -> line.split(" "))
                        .filter(words -> words.length == 4 && words[0].equals(word)
                                && words[1].equals(voucher))
                        .forEach(told::add);
            }
        }
        return told;
    }

    private Set<String> ids(String word, String voucher) throws IOException {
        List<String[]> told = told(word, voucher);
        Set<String> ids = told.stream().map(words -> words[3]).collect(Collectors.toSet());
        assertThat(ids).hasSameSizeAs(told);
        return ids;
    }

    private void awaitSales(String voucher) {
        long before = operator.scard("seckill:order:" + voucher);
        await("sales").until(() -> operator.scard("seckill:order:" + voucher) > before + 60);
    }

    private void sell(String voucher) {
        run("SET " + Buyers.SALE + " " + voucher);
        awaitSales(voucher);
    }

    /**
     * Nothing is on sale, and the consumers have read all, also what instances have left that were
     * killed or of another version.
     */
    private void closeSale() {
        run("DEL " + Buyers.SALE);
        for (String stream : List.of(OldShop.ORDERS, OldShop.PAID, OldShop.QUEUE)) {
            if (!operator.exists(stream)) {
                continue;
            }
            await(stream).until(() ->
                    run("XINFO GROUPS " + stream).toString().endsWith("lag, 0]]"));
            await(stream).until(() -> {
                String claim = typed("XAUTOCLAIM stream.orders g1 c1 0 0-0");
                run(claim.replace(OldShop.ORDERS, stream));
                operator.clientList().lines().filter(line -> line.contains("cmd=xreadgroup"))
                        .map(line -> line.replaceAll("^id=(\\d+) .*", "$1"))
                        .forEach(id -> run(typed("CLIENT UNBLOCK <id> ERROR").replace("<id>", id)));
                return operator.xpending(stream, "g1").getTotal() == 0;
            });
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"STREAM", "REDISSON", "QUEUED"})
    void everyOrderOfAShopThatMovesIsARow(Version old) throws Exception {
        Version paid = Version.valueOf(old + "_PAID");
        run(typed("XGROUP CREATE stream.orders g1 0 MKSTREAM"));
        run("XGROUP CREATE queue g1 0 MKSTREAM");
        run("SET seckill:stock:7 " + STOCK);
        start(old, "c1");
        Process killed = fork(old);
        sell("7");
        theApplicationIsNotChanged(old, killed);

        closeSale();
        stopAll();
        ordersAreHeldUntilTheyArePaid(old, paid);
        theLibraryIsUsedAndLeft(old.id ? old : paid);

        closeSale();
        stopAll();
        compare("7", old.id);
        compare("12", true);
        compare("13", true);
    }

    /** Another instance, whose Java virtual machine is killed. */
    private Process fork(Version version) throws IOException {
        String classes = System.getProperty(
                "surefire.test.class.path", System.getProperty("java.class.path"));
        Process process = new ProcessBuilder(
                ProcessHandle.current().info().command().orElseThrow(), "-cp", classes,
                OldShop.class.getName(), version.name(), "" + server.port(), "c2", url,
                log("killed").toString()).redirectErrorStream(true)
                .redirectOutput(folder.resolve("output").toFile()).start();
        instances.add(() -> process.destroyForcibly().onExit().join());
        return process;
    }

    private void theApplicationIsNotChanged(Version old, Process killed) throws Exception {
        run("MODULE LOAD " + SeckillServer.requiredModule());
        if (!old.id) {
            assertThat(operator.configSet("seckill.order-stream", "")).isEqualTo("OK");
        }
        awaitSales("7");
        Path log = log("killed");
        await("the other").until(() -> Files.exists(log) && Files.readString(log).contains("sold"));
        for (int round = 0; round < 6; round++) {
            answerNatively(round % 2 == 0 ? old.line() : "");
            if (round == 3) {
                killed.destroyForcibly().onExit().join();
            }
            awaitSales("7");
        }
        assertThat(run("INFO seckill").toString()).doesNotContain("seckill_scripts_replaced:0\r");
        answerNatively(old.line());
        start(old, "c2");
    }

    private void ordersAreHeldUntilTheyArePaid(Version old, Version paid) throws Exception {
        if (!old.id) {
            assertThat(operator.configSet("seckill.order-stream", OldShop.ORDERS)).isEqualTo("OK");
            answerNatively(paid.line());
        }
        run(typed("XGROUP CREATE stream.orders.confirmed g1 $ MKSTREAM"));
        table.run(typed("ALTER TABLE tb_voucher_order ALTER status SET DEFAULT 2"));
        start(paid, "c1");
        start(paid, "c2");
        run("SET seckill:stock:12 90");
        run(typed("SECKILL.CREATE 12 ADOPT HOLD 900000"));
        sell("12");
        await("sold out").until(() -> operator.get("seckill:stock:12").equals("0"));
        Set<String> bought = pay();
        await("rows").until(() -> table.orders("12").keySet().equals(bought));
        assertThat(table.orders("12").values()).allMatch(order -> order.endsWith(" 2"));

        run("SECKILL.RESTOCK 12 " + STOCK);
        awaitSales("12");
        run("MULTI");
        run(typed("SECKILL.ALTER 12 HOLD 0"));
        run(typed("XGROUP SETID stream.orders g1 $"));
        assertThat(run("EXEC").toString()).isEqualTo("[OK, OK]");
        stopOldest();
        start(old.id ? old : paid, "c1");
        awaitSales("12");
        await("payments").until(() -> {
            pay();
            return seckill.run(info("12")).held() == 0;
        });
        closeSale();
        stopOldest();
        start(old.id ? old : paid, "c2");
    }

    /** Of the orders that are held, two of three are paid, and the others cancelled. */
    private Set<String> pay() throws IOException {
        Set<String> bought = new HashSet<>();
        for (String[] held : told("sold", "12")) {
            if (seckill.run(order("12", held[3])).orElseThrow().state() == OrderState.HELD) {
                String which = String.join(" ", "12", held[2], held[3]);
                if (bought.size() < 2 * cancelled.size()) {
                    assertThat(run("SECKILL.CONFIRM " + which)).isEqualTo(1L);
                    bought.add(held[3]);
                } else {
                    assertThat(run("SECKILL.CANCEL " + which + " IF held")).isEqualTo(1L);
                    cancelled.add(held[3]);
                }
            }
        }
        return bought;
    }

    private void theLibraryIsUsedAndLeft(Version old) throws Exception {
        operator.configSet("seckill.id-epoch", String.valueOf(OldShop.EPOCH));
        operator.configSet("seckill.id-prefix", OldShop.PREFIX);
        sell("7");
        stopOldest();
        NewShop first = startNew("n1");
        awaitSales("7");
        stopOldest();
        NewShop second = startNew("n2");
        awaitSales("7");
        run("SET seckill:stock:13 " + STOCK);
        seckill.run(adopt("13", SaleRules.none()));
        sell("13");
        // Ids of the library are those of the shop's counter.
        assertThat(operator.keys("icr:*")).allMatch(key -> key.startsWith("icr:voucher:"));
        for (String id : ids("sold", "13")) {
            assertThat(Instant.ofEpochSecond((Long.parseLong(id) >> 32) + OldShop.EPOCH))
                    .isBetween(started, Instant.now());
        }

        first.isDown = true;
        second.isDown = true;
        awaitSales("13");
        stopOldest();
        start(old, "c1");
        awaitSales("13");
        stopOldest();
        start(old, "c2");
        assertThat(run("XPENDING stream.orders g1").toString()).contains("[returned, ");
        awaitSales("13");
    }

    private void compare(String voucher, boolean appendsOrders) throws Exception {
        Set<String> sold = ids("sold", voucher);
        sold.removeAll(cancelled);
        Map<String, String> rows = table.orders(voucher);
        assertThat(rows).containsKeys(sold.toArray(String[]::new));
        for (String[] told : told("sold", voucher)) {
            assertThat(rows.getOrDefault(told[3], told[2] + " ")).startsWith(told[2] + " ");
        }
        // Buyers of the instance that was killed have had no answer.
        Set<String> unknown = ids("tries", voucher);
        unknown.removeAll(ids("sold", voucher));
        unknown.removeAll(ids("refused", voucher));
        assertThat(unknown).hasSizeLessThanOrEqualTo(voucher.equals("7") ? Buyers.COUNT : 0);
        rows.keySet().removeAll(sold);
        assertThat(unknown).containsAll(rows.keySet());

        long buyers = operator.scard("seckill:order:" + voucher);
        long stored = table.orders(voucher).size();
        assertThat(buyers).isBetween(stored, stored + (appendsOrders ? 0 : unknown.size()));
        if (!voucher.equals("7")) {
            assertThat(seckill.run(audit(voucher)).isSound()).isTrue();
        }
    }
}
