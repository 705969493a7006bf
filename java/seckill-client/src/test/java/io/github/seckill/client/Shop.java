package io.github.seckill.client;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.protocol.ProtocolVersion;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/** A server of its own, its clients, and what they have told their observer. */
final class Shop implements AutoCloseable, SeckillObserver {
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
