package io.github.seckill.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillException.Code;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.test.SeckillServer;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Test;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.test.util.ReflectionTestUtils;

/** A server without the module. */
class ModuleMissingTest {
    private static final SeckillServer PLAIN =
            SeckillServer.start(SeckillServer.program(), List.of());

    private static final Duration RETRIES = Duration.ofSeconds(60);

    @AfterAll
    static void end() {
        PLAIN.close();
    }

    /** The client asks again for a minute, which no health check may take. */
    private static ConfigurableApplicationContext run(SeckillServer server, String check) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .web(WebApplicationType.NONE).properties(
                        "spring.data.redis.url=" + server.uri(), "spring.data.redis.timeout=500ms",
                        "spring.application.name=shop", "seckill.command-timeout=200ms",
                        "seckill.retry-for=60s", "seckill.check-on-start=" + check)
                .run();
    }

    private static String health(ConfigurableApplicationContext context) {
        Object health = context.getBean("seckillHealthIndicator");
        Object found = ReflectionTestUtils.invokeMethod(health, "health");
        return String.valueOf(found);
    }

    @Test
    void theHealthSaysSoBeforeTheFirstSale() {
        try (var context = run(PLAIN, "warn")) {
            assertThat(health(context))
                    .startsWith("DOWN {server=the server lacks the seckill module")
                    .contains("loadmodule");
            assertThatThrownBy(() ->
                    context.getBean(SeckillTemplate.class).tryBuy("7", "alice", "a1"))
                    .hasFieldOrPropertyWithValue("code", Code.NOMODULE);
        }
    }

    @Test
    void theApplicationDoesNotStartIfItShallNot() {
        assertThatThrownBy(() -> run(PLAIN, "fail").close())
                .isInstanceOf(IllegalStateException.class)
                .hasMessageContaining("lacks the seckill module");
    }

    @Test
    void theModuleThatIsLoadedLaterIsFound() throws Exception {
        try (SeckillServer server = SeckillServer.start(SeckillServer.program(), allowModules());
                var context = run(server, "off")) {
            assertThat(health(context)).startsWith("DOWN");
            StringRedisTemplate redis = context.getBean(StringRedisTemplate.class);
            String module = SeckillServer.module().orElseThrow().toAbsolutePath().toString();
            redis.execute(
                    (RedisCallback<Object>)
                            connection ->
                                    connection.execute(
                                            "MODULE", "LOAD".getBytes(), module.getBytes()));
            assertThat(health(context)).isEqualTo("UP {server=module loaded}");
        }
    }

    private static List<String> allowModules() {
        return List.of("--enable-module-command", "yes");
    }

    @Test
    void aServerThatIsAwayIsDownForAnotherReason() {
        SeckillServer server = SeckillServer.start();
        try (server;
                var context = run(server, "fail")) {
            server.kill();
            long started = System.nanoTime();
            assertThat(health(context)).startsWith("DOWN").doesNotContain("lacks");
            assertThat(Duration.ofNanos(System.nanoTime() - started)).isLessThan(RETRIES);
        }
    }
}
