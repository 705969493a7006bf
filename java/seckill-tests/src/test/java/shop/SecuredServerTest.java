package shop;

import static io.github.seckill.client.Commands.*;
import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.*;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.stream.*;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.context.ConfigurableApplicationContext;
import shop.documented.Pages;

/** TLS with certificates of both sides, a user with few rights, a name and a database. */
@EnabledIf("shop.documented.Pages#areHere")
class SecuredServerTest {
    private static final String DATABASE = "3";
    private static final String NAME = "shop-app";

    /** As a user who may do all. */
    private RedisCommands<String, String> plain;

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
                "spring.data.redis.database=" + DATABASE,
                "seckill.listener.claim-after=1s"));
        Set<String> failed = ConcurrentHashMap.newKeySet();
        Application.work = event -> {
            if (failed.add(event.idempotencyKey())) {
                throw new IllegalStateException("the database is down");
            }
        };
        return Application.run(
                Application.class, null, properties.toArray(String[]::new));
    }

    @Test
    void everyConnectionIsAsTheApplicationSaysAndNeedsOnlyTheDocumentedRights(@TempDir Path folder)
            throws Exception {
        Certificate certificate = Certificate.make(folder);
        try (SeckillServer server = start(certificate);
                RedisClient admin = RedisClient.create(server.uri());
                var connection = admin.connect()) {
            plain = connection.sync();
            String rights = Pages.line("docs/SECURITY.md", "ACL SETUSER application ");
            allow(rights);
            try (var context = run(certificate)) {
                // The check at the start gives up where a machine takes long to connect by TLS.
                await().until(() -> Application.health(context).startsWith("UP"));
                sell(context, "phone-1");
                withLock(context, () -> check(certificate.tlsPort()));
            }
            // Clients name themselves where the server knows how, since 7.2, and may fail in it.
            // Without the right to run scripts, dead consumers stay.
            assertThat(plain.aclLog())
                    .extracting(entry -> entry.get("object")).as("what was refused")
                    .contains("eval").allMatch(Set.of("client|setinfo", "eval")::contains);
            assertThat(notUsed(rights)).as("rights that nobody needs").isEmpty();
        }
    }

    private void allow(String rights) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        Arrays.stream(rights.split(" ")).skip(1).forEach(args::add);
        plain.dispatch(CommandType.ACL, new StatusOutput<>(StringCodec.UTF8), args);
    }

    private void sell(ConfigurableApplicationContext context, String voucher) {
        SeckillClient template = context.getBean(SeckillClient.class);
        template.create(voucher, 3, SaleRules.none().hold(Duration.ofMinutes(10)));
        assertThat(template.tryBuy(voucher, "alice", voucher + "1").outcome()).isEqualTo(Outcome.ACCEPTED);
        // The later ones travel together, unless this machine is slow.
        await().until(() -> {
            var tries = Stream.of("bob 2", "carol 3", "bob 2").map(one -> one.split(" "))
                    .map(one -> template.start(tryBuy(voucher, one[0], voucher + one[1]))).toList();
            tries.forEach(one -> assertThat(one.join().isAccepted()).isTrue());
            return Shop.calls(plain, "seckill.mtry") > 0;
        });
        assertThat(template.confirm(OrderRef.of(voucher, "alice", voucher + "1"), "pay-1"))
                .isEqualTo(Confirmation.CONFIRMED);
        assertThat(template.cancel(OrderRef.of(voucher, "bob", voucher + "2")))
                .isEqualTo(Cancellation.RELEASED);
        assertThat(template.tryBuy(voucher, "dave", voucher + "4").outcome()).isEqualTo(Outcome.ACCEPTED);
        Set<String> handled = context.getBean(Application.class).rows.keySet();
        await().until(() -> handled.stream().anyMatch(key -> key.endsWith(":" + voucher + "4")));
        await("dead consumers were looked for").until(() -> plain.aclLog().stream()
                .anyMatch(entry -> "eval".equals(entry.get("object"))));
    }

    /** Holds a lock until it was renewed, and meanwhile looks. */
    private void withLock(ConfigurableApplicationContext context, Runnable look)
            throws InterruptedException {
        long before = Shop.calls(plain, "lock.renew");
        SeckillLock lock = context.getBean(SeckillClient.class).lock("lock:report", LockOptions.defaults().lease(Duration.ofSeconds(20)));
        assertThat(lock.tryLock(10, TimeUnit.SECONDS)).isTrue();
        look.run();
        await().until(() -> Shop.calls(plain, "lock.renew") > before);
        lock.unlock();
    }

    private void check(int tlsPort) {
        List<Map<String, String>> connections = plain.clientList().lines()
                .map(SecuredServerTest::fields)
                .filter(fields -> "application".equals(fields.get("user"))).toList();
        assertThat(connections).isNotEmpty().allSatisfy(fields -> assertThat(fields)
                .containsEntry("laddr", "127.0.0.1:" + tlsPort)
                .containsEntry("name", NAME).containsEntry("db", DATABASE));
        assertThat(connections)
                .as("a lock has a connection of its own").extracting(fields -> fields.get("cmd"))
                .contains("lock.acquire");
    }

    private static Map<String, String> fields(String line) {
        return Arrays.stream(line.split(" ")).map(field -> field.split("=", 2))
                .collect(Collectors.toMap(field -> field[0], field -> field[1]));
    }

    private List<String> notUsed(String rights) {
        return Arrays.stream(rights.split(" "))
                .filter(right -> right.startsWith("+")).map(right -> right.substring(1))
                .filter(command -> Shop.calls(plain, command) == 0).toList();
    }

    /**
     * A key and a certificate that vouches for itself. Server and client have the same one and
     * trust no other.
     *
     * @param tlsPort a port that was free
     */
    private record Certificate(Path certificate, Path key, int tlsPort) {
        static Certificate make(Path folder) throws IOException, InterruptedException {
            Path certificate = folder.resolve("cert.pem");
            Path key = folder.resolve("key.pem");
            Process openssl = new ProcessBuilder(
                            "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                            "ec_paramgen_curve:prime256v1", "-nodes", "-days", "3", "-subj",
                            "/CN=shop", "-addext", "subjectAltName=IP:127.0.0.1",
                            "-keyout", key.toString(), "-out", certificate.toString())
                    .redirectErrorStream(true).start();
            byte[] printed = openssl.getInputStream().readAllBytes();
            assertThat(openssl.waitFor()).as(new String(printed)).isZero();
            return new Certificate(certificate, key, SeckillServer.freePort());
        }

        /** With which a server listens for TLS, too, and wants to see this certificate. */
        String[] serverOptions() {
            return new String[] {
                "--tls-port", String.valueOf(tlsPort), "--tls-auth-clients", "yes",
                "--tls-cert-file", certificate.toString(), "--tls-key-file", key.toString(),
                "--tls-ca-cert-file", certificate.toString()
            };
        }

        /** The properties of an SSL bundle of Spring Boot. */
        List<String> bundle(String name) {
            String bundle = "spring.ssl.bundle.pem." + name;
            return List.of(
                    bundle + ".keystore.certificate=file:" + certificate,
                    bundle + ".keystore.private-key=file:" + key,
                    bundle + ".truststore.certificate=file:" + certificate);
        }
    }
}
