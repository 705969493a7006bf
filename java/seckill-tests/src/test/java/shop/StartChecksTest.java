package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillException.Code;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.spring.boot.SeckillProperties;
import io.github.seckill.spring.listener.OrderFailurePolicy;
import io.github.seckill.spring.listener.OrderListenerContainer;
import io.github.seckill.spring.listener.OrderListenerObserver;
import io.github.seckill.test.SeckillServer;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/** What a server lacks or does not write is said at the start and in the health. */
@ExtendWith(OutputCaptureExtension.class)
class StartChecksTest {
    private static final String SAID = "the listeners read [";
    @AutoClose private static final SeckillServer PLAIN =
            SeckillServer.start(SeckillServer.program(), List.of());

    /** The client asks again for days, which no health check may take. */
    private static ConfigurableApplicationContext run(
            SeckillServer server, String check, String timeout) {
        return Application.run(
                Application.class, server, "spring.data.redis.timeout=" + timeout,
                "seckill.command-timeout=" + timeout, "seckill.retry-for=9d",
                "seckill.check-on-start=" + check);
    }

    @Test
    void theHealthSaysSoBeforeTheFirstSale(CapturedOutput output) {
        try (var context = run(PLAIN, "warn", "20s")) {
            assertThat(output).contains("server: the server lacks the seckill module");
            assertThat(Application.health(context))
                    .startsWith("DOWN {server=the server lacks the seckill module")
                    .contains("loadmodule");
            assertThatThrownBy(() ->
                    context.getBean(SeckillTemplate.class).tryBuy("7", "alice", "a1"))
                    .hasFieldOrPropertyWithValue("code", Code.NOMODULE);
        }
    }

    @Test
    void theApplicationDoesNotStartIfItShallNot() {
        assertThatThrownBy(() -> run(PLAIN, "fail", "20s").close())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("lacks the seckill module");
    }

    @Test
    void theModuleThatIsLoadedLaterIsFound(CapturedOutput output) throws Exception {
        List<String> allowed = List.of("--enable-module-command", "yes");
        try (SeckillServer server = SeckillServer.start(SeckillServer.program(), allowed);
                var context = run(server, "off", "20s")) {
            assertThat(output).doesNotContain("lacks the seckill module");
            assertThat(Application.health(context)).startsWith("DOWN");
            StringRedisTemplate redis = context.getBean(StringRedisTemplate.class);
            String module = SeckillServer.module().orElseThrow().toAbsolutePath().toString();
            redis.execute((RedisCallback<Object>) connection ->
                    connection.execute("MODULE", "LOAD".getBytes(), module.getBytes()));
            assertThat(Application.health(context)).isEqualTo("UP {server=module loaded}");
        }
    }

    @Test
    void aServerThatIsAwayIsDownForAnotherReason() {
        SeckillServer server = SeckillServer.start();
        try (server;
                var context = run(server, "fail", "200ms")) {
            server.kill();
            assertThat(Application.health(context)).startsWith("DOWN").doesNotContain("lacks");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', nullValues = "-", value = {
        // setting of the server | property of the application | what is said, if anything
        "order-stream orders | - | to orders, and the listeners read [stream.orders, stream.orders."
                + "confirmed, stream.orders.released]. Set seckill.listener.stream=orders, and no",
        "order-stream o\u00e9 | stream=o | Set seckill.listener.stream=o\u00e9, and no tags",
        "hash-tags yes | - | stream.orders:{tag}, and the listeners read [stream.orders,",
        "hash-tags yes | - | =stream.orders and the hash tags in seckill.listener.tags, unless",
        "order-stream '' | - | to no stream, and the listeners read [stream.orders,",
        "- | stream=stream.order | Set seckill.listener.stream=stream.orders, and no tags, unless",
        "- | tags=7 | and the listeners read [stream.orders.confirmed:{7}, ",
        "- | - | -",
        "order-stream o\u00e9 | stream=o\u00e9 | -",
        "hash-tags yes | tags=7 | -",
        "draw-stream draws | stream=draws | -"
    })
    void aStreamThatTheServerDoesNotWriteIsToldAtTheStartAndInTheHealth(
            String setting, String property, String said, CapturedOutput output) {
        String[] options = setting == null
                ? new String[0]
                : Stream.of(("--seckill." + setting).split(" "))
                        .map(word -> word.replace("''", "")).toArray(String[]::new);
        try (SeckillServer server = SeckillServer.start(options);
                var context = Application.run(
                        Application.class, server, "seckill.command-timeout=20s",
                        property == null ? "" : "seckill.listener." + property)) {
            // It may be meant, so it is no failure.
            String health = Application.health(context);
            assertThat(health).startsWith("UP {server=module loaded");
            if (said == null) {
                assertThat(health).doesNotContain("listeners");
                assertThat(output).doesNotContain(SAID);
            } else {
                assertThat(health).contains(said);
                assertThat(output).contains(said).containsOnlyOnce(SAID);
            }
        }
    }

    private static void add(ApplicationContext context, String stream) {
        Map<String, String> order = Map.of("userId", "u", "voucherId", "v", "id", "1");
        context.getBean(StringRedisTemplate.class).opsForStream().add(stream, order);
    }

    /** A container of the application's own may read what it wants, and wherever. */
    static class OwnContainer extends Application {
        @Bean
        OrderListenerContainer own(
                ConfigurableListableBeanFactory beans, RedisConnectionFactory factory,
                SeckillProperties properties) {
            return new OrderListenerContainer(
                    beans, () -> factory, properties.listener(), any -> Duration.ofSeconds(1),
                    OrderFailurePolicy.retryForever(), OrderListenerObserver.NONE);
        }
    }

    @Test
    void aStreamThatOthersWriteIsMeantWhileTheServerWritesNone(CapturedOutput output) {
        String stream = "seckill.listener.stream=own";
        try (SeckillServer server = SeckillServer.start();
                var own = Application.run(OwnContainer.class, server, stream)) {
            assertThat(Application.health(own)).startsWith("UP");
            assertThat(output).doesNotContain(SAID);
            try (var context = Application.run(Application.class, server, stream)) {
                add(context, "own");
                assertThat(Application.health(context)).doesNotContain(SAID);
                add(context, "stream.orders");
                assertThat(Application.health(context)).contains(SAID);
            }
            assertThat(Application.health(own)).doesNotContain(SAID);
        }
    }

    @Test
    void withoutTheRightToInfoNobodyKnows() {
        try (SeckillServer server = SeckillServer.start();
                var context = Application.run(Application.class, server)) {
            context.getBean(StringRedisTemplate.class).execute((RedisCallback<Object>) connection ->
                    connection.execute("ACL", "SETUSER".getBytes(), "default".getBytes(),
                            "-info".getBytes()));
            assertThat(Application.health(context)).startsWith("UP")
                    .contains(": grant +info");
        }
    }
}
