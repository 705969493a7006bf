#!/usr/bin/env bash
# Redisson in a cluster: RBuckets.trySet of three keys in several slots, of which the last exists already ("if at least one
# of them is already exist then don't set none of them"). Lettuce's MSETNX, which has no such sentence, beside it.
# Guess: false, and nothing is set; or the server's CROSSSLOT.
# Seen with Redisson 4.7.0 and Lettuce 7.5.2 on Redis 7.0.15: both send one MSETNX for each slot, and the keys of other slots
# are set. Lettuce says false. Redisson says true, though a key was there and keeps its old value.
. "$(dirname "$0")/common.sh"
java_program org.redisson:redisson:4.7.0 io.lettuce:lettuce-core:7.5.2.RELEASE <<'JAVA'
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.cluster.api.sync.RedisAdvancedClusterCommands;
import java.util.Map;
import java.util.TreeMap;
import org.redisson.Redisson;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;

public class Probe {
    static void tell(boolean all, RedisAdvancedClusterCommands<String, String> at) {
        System.out.println(all + " " + at.get("{a}stock") + " " + at.get("{b}stock") + " " + at.get("{c}stock"));
    }

    public static void main(String[] args) throws Exception {
        String url = "redis://127.0.0.1:" + args[0];
        var lettuce = RedisClusterClient.create(url).connect().sync();
        Map<String, String> cart = new TreeMap<>(Map.of("{a}stock", "new", "{b}stock", "new", "{c}stock", "new"));
        lettuce.set("{c}stock", "old");
        boolean all = lettuce.msetnx(cart);
        tell(all, lettuce);
        lettuce.del("{a}stock", "{b}stock");
        var config = new Config().setCodec(StringCodec.INSTANCE);
        config.useClusterServers().addNodeAddress(url).setCheckSlotsCoverage(false);
        var redisson = Redisson.create(config);
        all = redisson.getBuckets().trySet(cart);
        tell(all, lettuce);
        System.exit(0);
    }
}
JAVA
start_pair redis-7.0
told=$(probe "$port")
seen "what Lettuce says, and the keys" "false new new old" "$(head -n 1 <<<"$told")"
seen "what Redisson says, and the keys" "true new new old" "$(tail -n 1 <<<"$told")"
verdict
