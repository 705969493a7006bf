package shop.documented;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.*;
import io.lettuce.core.output.*;
import io.lettuce.core.protocol.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.assertj.core.api.InstanceOfAssertFactories;
import org.junit.jupiter.api.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.data.redis.connection.lettuce.*;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.core.script.DefaultRedisScript;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.util.SafeEncoder;

/** The lines of docs/clients.md: the library, and what is written where it is not wanted. */
@EnabledIf("shop.documented.Pages#areHere")
class ClientsPageTest {
    private static final StringCodec UTF8 = StringCodec.UTF8;

    @AutoClose private final SeckillServer server = SeckillServer.start();
    @AutoClose private final RedisClient lettuce = RedisClient.create(server.uri());
    @AutoClose private final SeckillClient seckill =
            SeckillClient.create(lettuce);

    @BeforeEach
    void open() {
        seckill.create("7", 10, SaleRules.none().limit(2));
    }

    /** Names of commands, for both clients. */
    private enum Seckill implements ProtocolCommand, ProtocolKeyword {
        TRY("SECKILL.TRY"),
        INFO("SECKILL.INFO"),
        ACQUIRE("LOCK.ACQUIRE");

        private final byte[] name;

        Seckill(String name) {
            this.name = name.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public byte[] getRaw() {
            return name;
        }

        @Override
        public byte[] getBytes() {
            return name;
        }
    }

    @Test
    void theLibrary() throws InterruptedException {
        String orderId = "library";
        Purchase bought = seckill.tryBuy("7", "alice", orderId);
        SaleInfo info = seckill.info("7");
        boolean held = seckill.lock("lock:report").tryLock(5, TimeUnit.SECONDS);
        assertThat(bought.outcome()).isEqualTo(Outcome.ACCEPTED);
        assertThat(info.total()).isEqualTo(10);
        assertThat(held).isTrue();
    }

    @Test
    void jedis() {
        String orderId = "jedis";
        String key = "lock:jedis";
        String token = "t";
        try (Jedis jedis = new Jedis(server.host(), server.port())) {
            long outcome = (Long) jedis.sendCommand(Seckill.TRY, "7", "alice", orderId);
            Object info = SafeEncoder.encodeObject(jedis.sendCommand(Seckill.INFO, "7")); // pairs
            long fence = (Long) jedis.sendBlockingCommand(
                    Seckill.ACQUIRE, key, token, "30000", "BLOCK", "5000", "FENCE");
            assertThat(outcome).isZero();
            assertThat(info).asInstanceOf(InstanceOfAssertFactories.LIST)
                    .contains("managed", "total");
            assertThat(fence).isPositive();
        }
    }

    @Test
    void lettuce() {
        String orderId = "lettuce";
        String key = "lock:lettuce";
        String token = "t";
        try (var first = lettuce.connect();
                var second = lettuce.connect()) {
            RedisCommands<String, String> sale = first.sync();
            RedisCommands<String, String> locks = second.sync();
            long outcome = sale.dispatch(Seckill.TRY, new IntegerOutput<>(UTF8),
                    new CommandArgs<>(UTF8).addKey("7").add("alice").add(orderId));
            Map<String, Object> info = sale.dispatch(Seckill.INFO, new GenericMapOutput<>(UTF8),
                    new CommandArgs<>(UTF8).addKey("7"));
            long fence = locks.dispatch(Seckill.ACQUIRE, new IntegerOutput<>(UTF8),
                    new CommandArgs<>(UTF8).addKey(key).add(token).add(30_000)
                            .add("BLOCK").add(5_000).add("FENCE"));
            assertThat(outcome).isZero();
            assertThat(info).containsEntry("total", 10L);
            assertThat(fence).isPositive();
        }
    }

    @Test
    void springDataRedis() {
        String orderId = "spring";
        LettuceConnectionFactory lettuceConnectionFactory =
                new LettuceConnectionFactory(server.host(), server.port());
        lettuceConnectionFactory.afterPropertiesSet();
        lettuceConnectionFactory.start();
        try {
            byte[] voucher = "7".getBytes(StandardCharsets.UTF_8);
            byte[] user = "alice".getBytes(StandardCharsets.UTF_8);
            byte[] id = "connection".getBytes(StandardCharsets.UTF_8);
            StringRedisTemplate stringRedisTemplate =
                    new StringRedisTemplate(lettuceConnectionFactory);
            var script = new DefaultRedisScript<>(
                    "return redis.call('SECKILL.TRY', ARGV[1], ARGV[2], ARGV[3])", Long.class);
            Long outcome = stringRedisTemplate.execute(script, List.of(), "7", "alice", orderId);

            try (var connection = (LettuceConnection) lettuceConnectionFactory.getConnection()) {
                outcome = (Long) connection.execute("SECKILL.TRY",
                        new IntegerOutput<>(ByteArrayCodec.INSTANCE), voucher, user, id);
            }
            assertThat(outcome).isZero();
            assertThat(seckill.order("7", orderId)).isPresent();
        } finally {
            lettuceConnectionFactory.destroy();
        }
    }
}
