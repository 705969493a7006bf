package shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillObserver;
import io.github.seckill.client.SeckillOptions;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A server of its own, its clients, and what they have told their observer. */
final class Shop implements AutoCloseable, SeckillObserver {
    /** So long that nothing ends by the time alone. */
    static final SeckillOptions REMEMBER =
            SeckillOptions.defaults().rememberSoldOut(true).soldOutFor(Duration.ofHours(1));

    final AtomicInteger remembered = new AtomicInteger();
    final AtomicInteger repeated = new AtomicInteger();
    final SeckillServer server;
    final RedisClient lettuce;
    final RedisCommands<String, String> plain;
    private final List<SeckillClient> clients = new ArrayList<>();

    Shop(String program, ProtocolVersion version) {
        server = Servers.start(program);
        lettuce = RedisClient.create(server.uri());
        lettuce.setOptions(ClientOptions.builder().protocolVersion(version).build());
        plain = lettuce.connect().sync();
    }

    Shop(String program) {
        this(program, ProtocolVersion.newestSupported());
    }

    Shop() {
        this(SeckillServer.program());
    }

    /** A client as of another process: it shares no lock with the others. */
    SeckillClient client(SeckillOptions options) {
        clients.add(new SeckillClient(LettuceTransport.of(lettuce), options, this));
        return clients.get(clients.size() - 1);
    }

    /** Buys until the client answers by itself. */
    static void awaitMemory(SeckillClient client, AtomicInteger remembered) throws Exception {
        Until.holds("remembered", () -> {
            int before = remembered.get();
            assertThat(client.tryBuy("7", "zoe", "z" + System.nanoTime()))
                    .isEqualTo(Outcome.SOLD_OUT);
            return remembered.get() > before;
        });
    }

    @Override
    public void rememberedSoldOut() {
        remembered.incrementAndGet();
    }

    @Override
    public void repeated() {
        repeated.incrementAndGet();
    }

    @Override
    public void close() {
        clients.forEach(SeckillClient::close);
        lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        server.close();
    }
}
