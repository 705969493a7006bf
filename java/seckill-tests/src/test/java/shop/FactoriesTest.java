package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.SaleRules;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.test.SeckillServer;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.annotation.Bean;
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

    /** Redisson's starter makes no factory where there is one. */
    static class BesideRedisson extends Application {
        @Bean
        LettuceConnectionFactory sales() {
            return to(SALES);
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
    }

    @Test
    void whatIsWrongInThePropertiesIsSaidAtTheStart(CapturedOutput output) {
        assertThat(failure(output, Application.class, "seckill.retry-for=-1s"))
                .contains("retryFor must not be negative: PT-1S");
        assertThat(failure(output, Application.class, "seckill.lock.lease=0s"))
                .contains("lease in ms must be at least 1: 0");
        assertThat(failure(output, Application.class, "seckill.listener.poll=0s"))
                .contains("seckill.listener").contains("must be at least 1 ms: PT0S");
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
    void redissonsStarterStaysBesideOurs(CapturedOutput output) throws Exception {
        assertThat(failure(
                output, Application.class, "spring.autoconfigure.exclude=",
                "spring.data.redis.url=" + SALES.uri()))
                .contains("The seckill starter needs Lettuce, and the connection factory is a")
                .contains("Define a bean of type LettuceConnectionFactory");
        theServerSells(BesideRedisson.class, "spring.autoconfigure.exclude=");
    }

    @Test
    void theChosenOneSellsAndIsRead() throws Exception {
        theServerSells(
                Two.class, "seckill.connection-factory=sales",
                "spring.data.redis.repositories.enabled=false");
    }

    private static void theServerSells(Class<?> application, String... properties)
            throws Exception {
        String voucher = application.getSimpleName();
        List<String> all = new ArrayList<>(List.of(properties));
        all.add("seckill.listener.group=" + voucher);
        try (var context = Application.run(application, SALES, all.toArray(String[]::new))) {
            SeckillClient seckill = context.getBean(SeckillClient.class);
            seckill.create(voucher, 1, SaleRules.none());
            seckill.tryBuy(voucher, "alice", "a1");
            Application shop = context.getBean(Application.class);
            await().until(() -> shop.rows.values().stream()
                    .anyMatch(event -> event.order().voucher().equals(voucher)));
            assertThat(Application.health(context)).startsWith("UP");
        }
    }
}
