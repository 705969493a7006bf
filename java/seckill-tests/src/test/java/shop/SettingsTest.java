package shop;

import static org.assertj.core.api.Assertions.*;
import static shop.Until.await;

import io.github.seckill.client.*;
import io.github.seckill.client.SeckillException.Code;
import io.github.seckill.spring.*;
import io.github.seckill.test.SeckillServer;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import java.util.*;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.extension.ExtendWith;
import org.mockito.Mockito;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.*;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.*;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.*;
import org.springframework.integration.support.locks.LockRegistry;

/** What an application says, and what it is told at the start where something is missing. */
@ExtendWith(OutputCaptureExtension.class)
class SettingsTest {
    @AutoClose private static final SeckillServer SALES = SeckillServer.start();
    @AutoClose private static final SeckillServer PLAIN = SeckillServer.start(
            SeckillServer.program(), List.of("--enable-module-command", "yes"));
    /** A busy machine takes long to connect. A health check may not take the time to ask again. */
    private static final String[] PATIENT = {
        "spring.data.redis.timeout=20s", "seckill.command-timeout=20s", "seckill.retry-for=9d"
    };

    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(SeckillAutoConfiguration.class));

    private ApplicationContextRunner withRedis() {
        return runner.withBean(LettuceConnectionFactory.class);
    }

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
            return to(PLAIN);
        }
    }

    /** Redisson's starter makes no factory where there is one. */
    static class BesideRedisson extends Application {
        @Bean
        LettuceConnectionFactory sales() {
            return to(SALES);
        }
    }

    @Test
    void itCanBeSwitchedOffAndNeedsOnlyRedis() {
        runner.run(context -> assertThat(context).doesNotHaveBean(SeckillClient.class));
        withRedis().withPropertyValues("seckill.enabled=false").run(context ->
                assertThat(context).hasNotFailed().doesNotHaveBean(SeckillClient.class));
        withRedis().run(context -> assertThat(context)
                .hasSingleBean(MeterBinder.class).hasSingleBean(OrderListenerContainer.class));
        withRedis().withPropertyValues("seckill.listener.enabled=false").run(context ->
                assertThat(context).doesNotHaveBean(OrderListenerContainer.class));
        withRedis()
                .withClassLoader(new FilteredClassLoader(MeterBinder.class, LockRegistry.class))
                .run(context -> assertThat(context)
                        .hasNotFailed().hasSingleBean(SeckillClient.class));
    }

    @Test
    void propertiesBecomeOptionsAndOwnBeansComeFirst() {
        SeckillOptions changed = SeckillOptions.defaults()
                .commandTimeout(Duration.ofMillis(300)).coalescing(false);
        withRedis().withPropertyValues(
                "seckill.command-timeout=300ms", "seckill.coalescing=off").run(context ->
                        assertThat(context.getBean(SeckillOptions.class))
                                .usingRecursiveComparison().isEqualTo(changed));
        withRedis().run(context -> assertThat(context.getBean(SeckillOptions.class))
                .usingRecursiveComparison().isEqualTo(SeckillOptions.defaults()));
        SeckillClient own = Mockito.mock(SeckillClient.class);
        withRedis().withBean(SeckillClient.class, () -> own).run(context ->
                assertThat(context.getBean(SeckillClient.class)).isSameAs(own));
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
    void whatIsWrongIsSaidAtTheStart(CapturedOutput output) {
        // Which wants one factory of its own in Spring Boot 4.
        String no = "spring.data.redis.repositories.enabled=false";
        assertThat(failure(output, Two.class, no))
                .contains("a single bean, but 2 were found").contains("- sales").contains("- cache")
                .contains("@Primary");
        assertThat(failure(output, Application.class, "seckill.retry-for=-1s"))
                .contains("retryFor must be from 0 ms to 36500 days: PT-1S");
        assertThat(failure(output, Application.class, "seckill.lock.lease=0s"))
                .contains("lease must be from 1 ms to 36500 days: PT0S");
        assertThat(failure(output, Application.class, "seckill.listener.poll=0s"))
                .contains("seckill.listener").contains("no longer: PT0S");
        // Of a stream with other braces nothing would ever come.
        assertThat(failure(output, Application.class, "seckill.listener.tags={phone}"))
                .contains("tags are named without braces: [{phone}]");
        runner.withBean(JedisConnectionFactory.class).run(context ->
                assertThat(context).getFailure().rootCause()
                        .hasMessageStartingWith("The seckill starter needs Lettuce"));
    }

    @Test
    void aWrongPasswordIsSaid(CapturedOutput output) {
        String wrong = "spring.data.redis.url=" + SALES.uri().replace("//", "//nobody:wrong@");
        try (var context = Application.run(Application.class, null, wrong, PATIENT[1])) {
            await().untilAsserted(() -> assertThat(output).containsPattern(
                    "The group rows can't read, and tries again: .*WRONGPASS"));
            assertThat(context.isRunning()).isTrue();
        }
    }

    @Test
    void theChosenOneSellsAndIsReadAlsoBesideRedisson(CapturedOutput output) {
        assertThat(failure(
                output, Application.class, "spring.autoconfigure.exclude=",
                "spring.data.redis.url=" + SALES.uri()))
                .contains("The seckill starter needs Lettuce, and the connection factory is a")
                .contains("define a bean of type LettuceConnectionFactory");
        theServerSells(BesideRedisson.class, "spring.autoconfigure.exclude=");
        theServerSells(
                Two.class, "seckill.connection-factory=sales",
                "spring.data.redis.repositories.enabled=false");
    }

    private static void theServerSells(Class<?> application, String... properties) {
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

    /** Before the first sale; and what is loaded later is found. */
    @Test
    void aServerWithoutTheModuleIsDown() {
        try (var context = Application.run(Application.class, PLAIN, PATIENT)) {
            assertThat(Application.health(context))
                    .startsWith("DOWN {server=the server lacks the seckill module")
                    .contains("loadmodule");
            Until.fails(() -> context.getBean(SeckillClient.class).tryBuy("7", "a", "a1"),
                    Code.NOMODULE);
            byte[] module = SeckillServer.requiredModule().getBytes();
            context.getBean(StringRedisTemplate.class).execute((RedisCallback<Object>) redis ->
                    redis.execute("MODULE", "LOAD".getBytes(), module));
            await().until(() -> Application.health(context).equals("UP {server=module loaded}"));
        }
    }

    @Test
    void aServerThatIsAwayIsDownForAnotherReason() {
        try (SeckillServer server = SeckillServer.start();
                var context = Application.run(
                        Application.class, server, "spring.data.redis.timeout=200ms",
                        "seckill.command-timeout=200ms")) {
            server.kill();
            assertThat(Application.health(context)).startsWith("DOWN").doesNotContain("lacks");
        }
    }
}
