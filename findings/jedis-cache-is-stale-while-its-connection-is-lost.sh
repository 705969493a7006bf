#!/usr/bin/env bash
# Jedis' client-side cache (CacheConfig, RESP3) has a value. The server closes the connection that the value came by, and
# another client changes the value.
# Guess: a value whose connection is lost is no longer in the cache, as nobody can tell of its changes.
# Seen with Jedis 8.0.2 on Redis 8.10.2: the old value is answered for about half a minute, until the pool looks for idle
# connections that are closed; then it is read anew. That look is configured by the pool, not by the cache.
. "$(dirname "$0")/common.sh"
start redis-8.10
java_program redis.clients:jedis:8.0.2 <<'JAVA'
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.Jedis;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.RedisProtocol;
import redis.clients.jedis.args.ClientType;
import redis.clients.jedis.csc.CacheConfig;
import redis.clients.jedis.params.ClientKillParams;

public class Probe {
    public static void main(String[] args) throws Exception {
        var at = new HostAndPort("127.0.0.1", Integer.parseInt(args[0]));
        var other = new Jedis(at);
        other.set("stock", "0");
        var client = RedisClient.builder().hostAndPort(at)
                .clientConfig(DefaultJedisClientConfig.builder().protocol(RedisProtocol.RESP3).build())
                .cacheConfig(CacheConfig.builder().maxSize(100).build()).build();
        System.out.println(client.get("stock"));
        other.set("stock", "1");
        while (!"1".equals(client.get("stock"))) {
            Thread.sleep(10);
        }
        System.out.println("1");
        other.clientKill(new ClientKillParams().type(ClientType.NORMAL).skipMe(ClientKillParams.SkipMe.YES));
        other.set("stock", "2");
        var begun = System.nanoTime();
        Thread.sleep(10_000);
        System.out.println(client.get("stock"));
        while (!"2".equals(client.get("stock")) && System.nanoTime() - begun < 90e9) {
            Thread.sleep(100);
        }
        var seconds = (System.nanoTime() - begun) / 1e9;
        System.out.println(seconds > 15 && seconds < 65 ? "2 within a minute" : "after " + seconds + " s");
        System.exit(0);
    }
}
JAVA
seen "first, changed, changed while the connection is lost, later" "0 1 1 2 within a minute" "$(probe "$port" | tr '\n' ' ' | sed 's/ *$//')"
verdict
