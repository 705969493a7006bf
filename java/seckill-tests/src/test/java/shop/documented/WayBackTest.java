package shop.documented;

import static io.github.seckill.client.Commands.audit;
import static org.assertj.core.api.Assertions.assertThat;
import static shop.Until.await;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.Range;
import io.lettuce.core.RedisClient;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.CommandType;
import java.io.IOException;
import java.nio.file.Files;
import java.time.Instant;
import java.time.LocalDate;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import shop.Application;

/** The last step of docs/moving.md and its way back: both versions of a shop on one sale. */
@EnabledIf("shop.documented.Pages#areHere")
class WayBackTest {
    /** The shop's ids count from another date and under another name than the usual ones. */
    private static final long EPOCH = Instant.parse("2020-01-01T00:00:00Z").getEpochSecond();

    private static final String PREFIX = "voucher";

    /** The new version, whose database is down. */
    @Configuration
    @EnableAutoConfiguration
    @Import(VoucherOrderService.class)
    static class WithoutDatabase {
        final AtomicInteger refused = new AtomicInteger();

        @SeckillOrderListener(group = "g1")
        void on(OrderPlaced placed) {
            refused.incrementAndGet();
            throw new IllegalStateException("the database is down");
        }
    }

    /** The old version: the usual script, and ids by the usual counter. */
    private record Old(StringRedisTemplate redis, DefaultRedisScript<Long> script) {
        long nextId() {
            String day = LocalDate.now(ZoneOffset.UTC).toString().replace('-', ':');
            Long count = redis.opsForValue().increment("icr:" + PREFIX + ":" + day);
            return Instant.now().getEpochSecond() - EPOCH << 32 | count;
        }

        long buy(long voucher, long user) {
            return redis.execute(
                    script, List.of(), "" + voucher, "" + user, String.valueOf(nextId()));
        }
    }

    private static List<StreamMessage<String, String>> orders(RedisCommands<String, String> plain) {
        return plain.xrange("stream.orders", Range.unbounded());
    }

    @Test
    void theOldVersionGoesOnWhereTheLibraryWasShutDown() throws IOException {
        var file = Pages.ROOT.resolve("examples/java-spring/src/main/resources/seckill.lua");
        var script = new DefaultRedisScript<>(Files.readString(file), Long.class);
        try (SeckillServer server = SeckillServer.start();
                RedisClient lettuce = RedisClient.create(server.uri());
                SeckillClient seckill = SeckillClient.create(LettuceTransport.of(lettuce))) {
            RedisCommands<String, String> plain = lettuce.connect().sync();
            plain.configSet(
                    "seckill.scripts", script.getSha1() + " SECKILL.TRY ARGV[1] ARGV[2] ARGV[3]");
            plain.configSet("seckill.id-epoch", String.valueOf(EPOCH));
            plain.configSet("seckill.id-prefix", PREFIX);
            var connections = new LettuceConnectionFactory(server.host(), server.port());
            connections.afterPropertiesSet();
            connections.start();
            Old old = new Old(new StringRedisTemplate(connections), script);
            try (var context = Application.run(WithoutDatabase.class, server)) {
                VoucherOrderService library = context.getBean(VoucherOrderService.class);
                library.openSale(7, 3);
                long before = old.nextId();
                assertThat(library.buy(7, 1)).isEqualTo("ordered");
                long made = Long.parseLong(orders(plain).get(0).getBody().get("id"));
                assertThat(made & 0xffff_ffffL).isEqualTo((before & 0xffff_ffffL) + 1);
                assertThat(made).isGreaterThan(before).isLessThan(old.nextId());

                // Instance by instance: the server answers both by the same rules.
                assertThat(old.buy(7, 1)).isEqualTo(2);
                assertThat(old.buy(7, 2)).isZero();
                assertThat(library.buy(7, 2)).isEqualTo("one order per user");
                AtomicInteger refused = context.getBean(WithoutDatabase.class).refused;
                await().until(() -> refused.get() >= 2);
            }
            assertThat(plain.xpending("stream.orders", "g1").getConsumerMessageCount())
                    .containsOnlyKeys("returned").containsEntry("returned", 2L);

            assertThat(old.buy(7, 2)).isEqualTo(2);
            assertThat(old.buy(7, 3)).isZero();
            assertThat(old.buy(7, 4)).isEqualTo(1);
            List<?> claimed = typed(plain, "XAUTOCLAIM stream.orders g1 c1 0 0-0");
            assertThat((List<?>) claimed.get(1)).hasSize(2);
            assertThat(typed(plain, "XREADGROUP GROUP g1 c1 STREAMS stream.orders >").toString())
                    .contains(orders(plain).get(2).getId())
                    .doesNotContain(orders(plain).get(1).getId());
            assertThat(orders(plain)).hasSize(3);
            assertThat(seckill.run(audit("7")).isSound()).isTrue();
            connections.destroy();
        }
    }

    private static List<Object> typed(RedisCommands<String, String> plain, String line)
            throws IOException {
        assertThat(Files.readString(Pages.ROOT.resolve("docs/moving.md"))).contains(line);
        String[] words = line.split(" ");
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        Arrays.stream(words).skip(1).forEach(args::add);
        return plain.dispatch(
                CommandType.valueOf(words[0]), new NestedMultiOutput<>(StringCodec.UTF8), args);
    }
}
