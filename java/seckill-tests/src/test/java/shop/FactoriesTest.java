package shop;

import static io.github.seckill.client.Commands.create;
import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillTransport;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Primary;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/** An application with several servers says which one sells, or is told how to. */
@ExtendWith(OutputCaptureExtension.class)
class FactoriesTest {
    @AutoClose private static final SeckillServer SALES = SeckillServer.start();
    @AutoClose private static final SeckillServer CACHE = SeckillServer.start();

    private static LettuceConnectionFactory to(SeckillServer server) {
        return new LettuceConnectionFactory(
                new RedisStandaloneConfiguration(server.host(), server.port()));
    }

    static class Two extends Application {
        @Bean
        RedisConnectionFactory sales() {
            return to(SALES);
        }

        @Bean
        RedisConnectionFactory cache() {
            return to(CACHE);
        }
    }

    static class PrimaryCache extends Two {
        @Bean
        @Primary
        @Override
        RedisConnectionFactory cache() {
            return to(CACHE);
        }

        @Bean(destroyMethod = "close")
        SeckillTransport transport() {
            return LettuceTransport.of(RedisClient.create(SALES.uri()));
        }
    }

    /** What Spring Boot prints of a start that has failed. */
    private static String failure(
            CapturedOutput output, Class<?> application, String... properties) {
        try {
            Application.run(application, null, properties).close();
            return "it has started";
        } catch (RuntimeException failed) {
            String all = output.toString();
            int from = all.lastIndexOf("APPLICATION FAILED TO START");
            return from < 0 ? failed.toString() : all.substring(from);
        }
    }

    @Test
    void twoFactoriesNeedAChoice(CapturedOutput output) {
        assertThat(failure(output, Two.class))
                .contains("several connection factories and none is @Primary: [sales, cache]")
                .contains("Set seckill.connection-factory");
        assertThat(failure(output, Two.class, "seckill.connection-factory=sale"))
                .contains("seckill.connection-factory is sale").contains("[sales, cache]");
        assertThat(failure(output, PrimaryCache.class))
                .contains("The SeckillTransport is the application's own")
                .contains("Set seckill.connection-factory");
    }

    @Test
    void whatIsWrongInThePropertiesIsSaidAtTheStart(CapturedOutput output) {
        assertThat(failure(output, Application.class, "seckill.retry-for=-1s"))
                .contains("retryFor must not be negative: PT-1S");
        assertThat(failure(output, Application.class, "seckill.lock.lease=0s"))
                .contains("lease in ms must be at least 1: 0");
        assertThat(failure(output, Application.class, "seckill.listener.poll=0s"))
                .contains("seckill.listener").contains("must be at least 1 ms: PT0S");
        Application.run(Application.class, SALES, "seckill.comand-timeout=2s").close();
        assertThat(output).contains("seckill.comand-timeout is not a property of the seckill ")
                .doesNotContain("seckill.listener.poll is not a property");
    }

    @Test
    void aWrongPasswordIsToldFromAServerThatIsDown(CapturedOutput output) throws Exception {
        String wrong = "spring.data.redis.url=" + SALES.uri().replace("//", "//nobody:wrong@");
        String patience = "seckill.command-timeout=20s"; // A busy machine takes long to connect.
        try (var context = Application.run(Application.class, null, wrong, patience)) {
            assertThat(output).containsPattern(
                    "Can't ask the server whether .*WRONGPASS.* Set spring.data.redis.username");
            await().untilAsserted(() -> assertThat(output).containsPattern(
                    "The group rows can't read, and tries again: .*WRONGPASS"));
            assertThat(context.isRunning()).isTrue();
        }
    }

    @Test
    void redissonsStarterStaysBesideOurs() throws Exception {
        try (var context = Application.run(
                Application.class, SALES, "spring.autoconfigure.exclude=")) {
            assertThat(context.getBean(RedisConnectionFactory.class).getClass().getName())
                    .startsWith("org.redisson.");
            SeckillTemplate seckill = context.getBean(SeckillTemplate.class);
            seckill.run(create("beside", 1, SaleRules.none()));
            seckill.tryBuy("beside", "alice", "a1");
            Application shop = context.getBean(Application.class);
            await().until(() -> shop.rows.size() == 1);
            assertThat(Application.health(context)).startsWith("UP");
        }
    }

    @Test
    void redissonsOwnFileDoesNotTellWhereToConnect(CapturedOutput output) {
        String file = "singleServerConfig: {address: '" + SALES.uri() + "'}";
        assertThat(failure(
                output, Application.class, "spring.autoconfigure.exclude=",
                "spring.redis.redisson.config=" + file))
                .contains("The connection factory is Redisson's")
                .contains("Set spring.data.redis.url");
    }

    @Test
    void theChosenOneSellsAndIsRead() throws Exception {
        for (Class<?> application : new Class<?>[] {Two.class, PrimaryCache.class}) {
            try (var context = Application.run(
                    application, CACHE, "seckill.connection-factory=sales",
                    "spring.data.redis.repositories.enabled=false",
                    "seckill.listener.group=" + application.getSimpleName())) {
                SeckillTemplate seckill = context.getBean(SeckillTemplate.class);
                String voucher = application.getSimpleName();
                seckill.run(create(voucher, 1, SaleRules.none()));
                seckill.tryBuy(voucher, "alice", "a1");
                Application shop = context.getBean(Application.class);
                await().until(() -> shop.rows.values().stream()
                        .anyMatch(event -> event.order().voucher().equals(voucher)));
                assertThat(Application.health(context)).startsWith("UP");
            }
        }
    }
}
