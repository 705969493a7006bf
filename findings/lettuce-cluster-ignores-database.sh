#!/usr/bin/env bash
# Lettuce's cluster client at a URI that names a database, on Valkey 9 with cluster-databases 16.
# Guess: it selects that database, as its client without a cluster does with the same URI, or refuses the URI, since
# clusters had one database for ten years.
# Seen with Lettuce 7.7.0 on Valkey 9.1.2: neither. Everything is read and written in database 0, without a word, and
# the connections have no `select`.
. "$(dirname "$0")/common.sh"
start valkey-9.1 --cluster-enabled yes --cluster-databases 16
say CLUSTER ADDSLOTSRANGE 0 16383 >/dev/null
until say CLUSTER INFO | grep -q cluster_state:ok; do sleep 0.1; done
say -n 5 SET where five >/dev/null
say SET where zero >/dev/null
java_program io.lettuce:lettuce-core:7.7.0.RELEASE <<'JAVA'
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;

public class Probe {
    public static void main(String[] args) {
        String uri = "redis://127.0.0.1:" + args[0] + "/5";
        System.out.println(args[1].equals("cluster")
                ? RedisClusterClient.create(uri).connect().sync().get("where")
                : RedisClient.create(uri).connect().sync().get("where"));
        System.exit(0);
    }
}
JAVA
seen "database 5 by a client without a cluster" five "$(probe "$port" alone)"
seen "database 5 by a cluster client" zero "$(probe "$port" cluster)"
verdict
