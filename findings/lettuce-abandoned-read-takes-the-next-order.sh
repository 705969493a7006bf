#!/usr/bin/env bash
# Lettuce: a blocking read is longer than the client's time-out (60 seconds by default), so it fails with
# RedisCommandTimeoutException. Then an order comes.
# Guess: the read is over, and the next read gets the order.
# Seen with Lettuce 7.7.0 on Redis 7.0.15: the client has stopped to wait, the server has not. It delivers the order to the
# read that nobody waits for: of XREADGROUP it is pending, and no read of new entries shows it; of BLPOP it is gone.
# Reads that end within the time-out, as BLOCK 500 here, lose nothing.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program io.lettuce:lettuce-core:7.7.0.RELEASE <<'JAVA'
import io.lettuce.core.Consumer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.XGroupCreateArgs;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import java.time.Duration;
import java.util.Map;
import java.util.function.Supplier;

public class Probe {
    static String tried(Supplier<Object> read) {
        try {
            return String.valueOf(read.get());
        } catch (RedisCommandTimeoutException late) {
            return "time-out";
        }
    }

    public static void main(String[] args) throws Exception {
        var server = "redis://127.0.0.1:" + args[0];
        var consumer = RedisClient.create(server + "?timeout=3s").connect().sync();
        var shop = RedisClient.create(server).connect().sync();
        Duration block = Duration.ofMillis(Long.parseLong(args[1]));
        var stream = StreamOffset.lastConsumed("orders");
        shop.flushall();
        shop.xgroupCreate(StreamOffset.from("orders", "0"), "group", XGroupCreateArgs.Builder.mkstream());
        var me = Consumer.from("group", "me");
        Supplier<Object> read = () -> consumer.xreadgroup(me, XReadArgs.Builder.block(block), stream).size();
        System.out.print(tried(read));
        shop.xadd("orders", Map.of("id", "1"));
        Thread.sleep(500);
        // It follows the abandoned read on the same connection, which the entry has ended.
        System.out.print(", next read " + consumer.xreadgroup(me, stream).size());
        System.out.print(", pending " + shop.xpending("orders", "group").getCount());
        System.out.print("; BLPOP " + tried(() -> consumer.blpop(block.toMillis() / 1000.0, "list")));
        shop.rpush("list", "1");
        Thread.sleep(500);
        System.out.println(", left in the list " + shop.llen("list"));
        System.exit(0);
    }
}
JAVA
seen "reads of 20 seconds" "time-out, next read 0, pending 1; BLPOP time-out, left in the list 0" "$(probe "$port" 20000)"
seen "reads of half a second" "0, next read 1, pending 1; BLPOP null, left in the list 1" "$(probe "$port" 500)"
verdict
