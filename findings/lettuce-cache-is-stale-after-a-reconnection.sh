#!/usr/bin/env bash
# Lettuce's client-side cache (ClientSideCaching) has a value. The connection breaks, Lettuce connects again by itself, and
# then another client changes the value.
# Guess: the server tells the new connection as it told the old one, or the cache is emptied with the connection.
# Seen with Lettuce 7.7.0 on Redis 7.0.15: the new connection has no CLIENT TRACKING, so nobody is told of anything again, and
# the cache answers the old value for ever: here still after 20 seconds, while the connection itself reads the new one.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program io.lettuce:lettuce-core:7.7.0.RELEASE <<'JAVA'
import io.lettuce.core.RedisClient;
import io.lettuce.core.TrackingArgs;
import io.lettuce.core.support.caching.CacheAccessor;
import io.lettuce.core.support.caching.ClientSideCaching;
import java.util.concurrent.ConcurrentHashMap;

public class Probe {
    public static void main(String[] args) throws Exception {
        var client = RedisClient.create("redis://127.0.0.1:" + args[0]);
        var other = client.connect().sync();
        var connection = client.connect();
        var id = connection.sync().clientId();
        other.set("stock", "0");
        var cache = ClientSideCaching.enable(CacheAccessor.forMap(new ConcurrentHashMap<String, String>()),
                connection, TrackingArgs.Builder.enabled());
        System.out.println(cache.get("stock"));
        other.set("stock", "1");
        while (!"1".equals(cache.get("stock"))) {
            Thread.sleep(10);
        }
        System.out.println("1");
        other.clientKill(io.lettuce.core.KillArgs.Builder.id(id));
        while (!connection.isOpen() || connection.sync().clientId().equals(id)) {
            Thread.sleep(10);
        }
        other.set("stock", "2");
        Thread.sleep(20_000);
        System.out.println(cache.get("stock"));
        System.out.println(connection.sync().get("stock"));
        System.exit(0);
    }
}
JAVA
seen "first, changed, changed after a reconnection, read by the connection" "0 1 1 2" "$(probe "$port" | tr '\n' ' ' | sed 's/ *$//')"
verdict
