package io.github.seckill.spring.boot;

import static io.github.seckill.client.Commands.*;
import static io.github.seckill.spring.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.github.seckill.client.Cancellation;
import io.github.seckill.client.Confirmation;
import io.github.seckill.client.LockOptions;
import io.github.seckill.client.OrderRef;
import io.github.seckill.client.Outcome;
import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillLock;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.spring.documented.Pages;
import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;

/** TLS with certificates of both sides, a user with few rights, a name and a database. */
class SecuredServerTest {
    private static final String DATABASE = "3";
    private static final String NAME = "shop-app";

    /** Its listener fails at everything once. */
    @EnableAutoConfiguration
    static class FailsOnce {
        final Set<String> failed = ConcurrentHashMap.newKeySet();
        final Set<String> handled = ConcurrentHashMap.newKeySet();

        @Bean
        SimpleMeterRegistry meterRegistry() {
            return new SimpleMeterRegistry();
        }

        @SeckillOrderListener(group = "rows")
        void on(OrderPlaced placed) {
            String order = placed.order().orderId();
            if (failed.add(order)) {
                throw new IllegalStateException("the database is down");
            }
            handled.add(order);
        }
    }

    private static SeckillServer start(Certificate certificate) {
        try {
            return SeckillServer.start(certificate.serverOptions());
        } catch (IllegalStateException refused) {
            String log = refused.getMessage();
            boolean without = log.contains("finding TLS support") || log.contains("> 'tls-port");
            assumeTrue(!without, "a server without TLS");
            throw refused;
        }
    }

    private static ConfigurableApplicationContext run(Certificate certificate) {
        List<String> properties = new ArrayList<>(certificate.bundle("shop"));
        properties.addAll(List.of(
                "spring.data.redis.ssl.bundle=shop", "spring.data.redis.host=127.0.0.1",
                "spring.data.redis.port=" + certificate.tlsPort(),
                "spring.data.redis.username=application", "spring.data.redis.password=change-me-12",
                "spring.data.redis.client-name=" + NAME,
                "spring.data.redis.database=" + DATABASE, "seckill.coalescing=on",
                "seckill.coalescing-window=1ms", "seckill.sold-out-for=10m",
                "seckill.remember-sold-out=true", "seckill.listener.retry-first=10ms",
                "seckill.listener.poll=50ms"));
        return new SpringApplicationBuilder(FailsOnce.class)
                .web(WebApplicationType.NONE).properties(properties.toArray(new String[0])).run();
    }

    @Test
    void everyConnectionIsAsTheApplicationSaysAndNeedsOnlyTheDocumentedRights(@TempDir Path folder)
            throws Exception {
        Certificate certificate = Certificate.make(folder);
        try (SeckillServer server = start(certificate);
                RedisClient admin = RedisClient.create(server.uri());
                var connection = admin.connect()) {
            RedisCommands<String, String> plain = connection.sync();
            String rights = Pages.line("docs/SECURITY.md", "ACL SETUSER application ");
            allow(plain, rights);
            try (var context = run(certificate)) {
                sell(context, plain, "phone-1");
                withLock(context, plain, () -> check(plain, certificate.tlsPort()));
            }
            // Clients name themselves where the server knows how, since 7.2, and may fail in it.
            assertThat(plain.aclLog())
                    .extracting(entry -> entry.get("object")).as("what was refused")
                    .allMatch("client|setinfo"::equals);
            assertThat(notUsed(plain, rights)).as("rights that nobody needs").isEmpty();
        }
    }

    private static void allow(RedisCommands<String, String> plain, String rights) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        Arrays.stream(rights.split(" ")).skip(1).forEach(args::add);
        plain.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), args);
    }

    private static void sell(
            ConfigurableApplicationContext context, RedisCommands<String, String> plain,
            String voucher) {
        SeckillTemplate template = context.getBean(SeckillTemplate.class);
        template.run(create(voucher, 3, SaleRules.none().hold(Duration.ofMinutes(10))));
        assertThat(template.tryBuy(voucher, "alice", voucher + "1")).isEqualTo(Outcome.ACCEPTED);
        SeckillClient client = template.client();
        // Both travel together, unless this machine is slow.
        await().until(() -> {
            var bobs = client.start(tryBuy(voucher, "bob", voucher + "2"));
            var carols = client.start(tryBuy(voucher, "carol", voucher + "3"));
            assertThat(bobs.join()).isEqualTo(Outcome.ACCEPTED);
            assertThat(carols.join()).isEqualTo(Outcome.ACCEPTED);
            return calls(plain, "seckill.mtry") > 0;
        });
        assertThat(template.run(confirm(OrderRef.of(voucher, "alice", voucher + "1"), "pay-1")))
                .isEqualTo(Confirmation.CONFIRMED);
        var remembered = context.getBean(MeterRegistry.class).get("seckill.remembered").counter();
        await().until(() -> {
            template.tryBuy(voucher, "eve", "e" + System.nanoTime());
            return remembered.count() > 0;
        });
        // The announcement comes by TLS, too.
        assertThat(template.run(cancel(OrderRef.of(voucher, "bob", voucher + "2"))))
                .isEqualTo(Cancellation.RELEASED);
        await().until(() -> template.tryBuy(voucher, "dave", voucher + "4") == Outcome.ACCEPTED);
        FailsOnce application = context.getBean(FailsOnce.class);
        await().until(() -> application.handled.contains(voucher + "4"));
    }

    /** Holds a lock until it was renewed, and meanwhile looks. */
    private static void withLock(
            ConfigurableApplicationContext context, RedisCommands<String, String> plain,
            Runnable look)
            throws InterruptedException {
        long before = calls(plain, "lock.renew");
        SeckillLock lock = context.getBean(SeckillTemplate.class)
                .client().lock("lock:report", LockOptions.defaults().lease(Duration.ofSeconds(3)));
        assertThat(lock.tryLock(10, TimeUnit.SECONDS)).isTrue();
        look.run();
        await().until(() -> calls(plain, "lock.renew") > before);
        lock.unlock();
    }

    private static void check(RedisCommands<String, String> plain, int tlsPort) {
        List<Map<String, String>> connections = plain.clientList().lines()
                .map(SecuredServerTest::fields)
                .filter(fields -> "application".equals(fields.get("user")))
                .toList();
        assertThat(connections)
                .isNotEmpty().allSatisfy(fields ->
                        assertThat(fields)
                                .containsEntry("laddr", "127.0.0.1:" + tlsPort)
                                .containsEntry("name", NAME).containsEntry("db", DATABASE));
        assertThat(connections)
                .as("a lock has a connection of its own").extracting(fields -> fields.get("cmd"))
                .contains("lock.acquire");
        assertThat(connections)
                .as("one watches stocks")
                .anySatisfy(fields -> assertThat(fields.get("flags")).contains("t"));
    }

    private static Map<String, String> fields(String line) {
        return Arrays.stream(line.split(" "))
                .map(field -> field.split("=", 2))
                .collect(Collectors.toMap(field -> field[0], field -> field[1]));
    }

    private static List<String> notUsed(RedisCommands<String, String> plain, String rights) {
        return Arrays.stream(rights.split(" "))
                .filter(right -> right.startsWith("+")).map(right -> right.substring(1))
                .filter(command -> calls(plain, command) == 0).toList();
    }

    private static long calls(RedisCommands<String, String> plain, String command) {
        String field = "cmdstat_" + command + ":calls=";
        return plain.info("commandstats").lines()
                .filter(line -> line.startsWith(field))
                .map(line -> line.substring(field.length()).split(",")[0])
                .mapToLong(Long::parseLong).sum();
    }
}
