#!/usr/bin/env bash
# Jedis: a consumer reads its group with BLOCK 1000, by a client whose time-out is 2 seconds. The server's host goes silent
# as the read begins, as at a loss of power or of the network: here the server is stopped, and its connections stay open.
# Guess: the read fails after 2 seconds, or 3, as a read without BLOCK does.
# Seen with Jedis 8.0.2 on Redis 7.0.15: it still waits after 20 seconds. The time-out does not count for a read that blocks,
# however short; for it there is blockingSocketTimeoutMillis, which is 0 as it comes, for ever.
. "$(dirname "$0")/common.sh"
start redis-7.0
server=${pids[-1]}
java_program redis.clients:jedis:8.0.2 <<'JAVA'
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.RedisClient;
import redis.clients.jedis.StreamEntryID;
import redis.clients.jedis.params.XReadGroupParams;

public class Probe {
    static String told(Supplier<Object> call) {
        var future = CompletableFuture.supplyAsync(call);
        try {
            return String.valueOf(future.get(20, TimeUnit.SECONDS));
        } catch (TimeoutException e) {
            return "waits";
        } catch (Exception e) {
            Throwable first = e;
            while (first.getCause() != null) {
                first = first.getCause();
            }
            return first.getClass().getSimpleName();
        }
    }

    static String read(RedisClient client, boolean block) {
        var params = XReadGroupParams.xReadGroupParams().count(10);
        return told(() -> client.xreadGroup("group", "me", block ? params.block(1000) : params,
                Map.of("orders", StreamEntryID.XREADGROUP_UNDELIVERED_ENTRY)));
    }

    public static void main(String[] args) throws Exception {
        var options = DefaultJedisClientConfig.builder().timeoutMillis(2000);
        if (args.length > 2) {
            options.blockingSocketTimeoutMillis(3000);
        }
        var client = RedisClient.builder().hostAndPort(new HostAndPort("127.0.0.1", Integer.parseInt(args[0])))
                .clientConfig(options.build()).build();
        client.flushAll();
        client.xgroupCreate("orders", "group", new StreamEntryID(0, 0), true);
        System.out.println(read(client, true));
        System.in.read();
        System.out.println(read(client, args[1].equals("block")));
        System.exit(0);
    }
}
JAVA
java=(java -cp "$folder/java:$(cat "$folder/java/cp")" Probe "$port")
silent() { # "plain" or "block", an option: what a read is told of a silent server, on a connection that has worked
    : >"$folder/told"
    exec 3> >("${java[@]}" "$@" >"$folder/told" 2>/dev/null)
    local client=$!
    until [ -s "$folder/told" ]; do kill -0 $client && sleep 0.1; done
    kill -STOP "$server"
    exec 3>&-
    wait $client
    kill -CONT "$server"
    tail -1 "$folder/told"
}
seen "without BLOCK" SocketTimeoutException "$(silent plain)"
seen "with BLOCK 1000, after 20 seconds" waits "$(silent block)"
seen "with BLOCK 1000 and blockingSocketTimeoutMillis 3000" SocketTimeoutException "$(silent block option)"
verdict
