package shop;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillException.Code;
import io.github.seckill.test.SeckillServer;
import java.util.List;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.data.redis.core.RedisCallback;
import org.springframework.data.redis.core.StringRedisTemplate;

/** What a server lacks is said at the start and in the health. */
@ExtendWith(OutputCaptureExtension.class)
class StartChecksTest {
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
                    context.getBean(SeckillClient.class).tryBuy("7", "alice", "a1"))
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
}
