package shop;

import static shop.Until.await;

import io.github.seckill.test.SeckillServer;
import io.lettuce.core.*;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.cluster.*;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.StatusOutput;
import io.lettuce.core.protocol.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Three primaries, each with a replica. */
final class TestCluster implements AutoCloseable {
    private static final int PRIMARIES = 3;
    private static final int SLOTS = 16_384;

    private final List<SeckillServer> servers = new ArrayList<>();
    private final List<RedisCommands<String, String>> nodes = new ArrayList<>();
    private final RedisClient plain = RedisClient.create();

    private @Nullable RedisClusterClient lettuce;

    private static final ProtocolKeyword MODULE = () -> "MODULE".getBytes();

    /** Starts it: all nodes have the module, but for those that lack it. */
    @SuppressWarnings("unchecked") // a generic array for varargs
    void open(Integer... lackModule) throws Exception {
        for (int i = 0; i < 2 * PRIMARIES; i++) {
            List<String> options = new ArrayList<>(List.of(
                    "--cluster-enabled", "yes", "--cluster-node-timeout", "5000",
                    "--enable-module-command", "yes", "--cluster-require-full-coverage", "no",
                    "--repl-diskless-sync-delay", "0"));
            if (!List.of(lackModule).contains(i)) {
                options.addAll(List.of("--loadmodule", SeckillServer.requiredModule()));
            }
            SeckillServer server = SeckillServer.start(SeckillServer.program(), options);
            servers.add(server);
            nodes.add(plain.connect(RedisURI.create(server.uri())).sync());
        }
        for (int i = 0; i < PRIMARIES; i++) {
            int end = (i + 1) * SLOTS / PRIMARIES;
            nodes.get(i).clusterAddSlotsRange(Range.create(i * SLOTS / PRIMARIES, end - 1));
        }
        for (SeckillServer server : servers) {
            nodes.get(0).clusterMeet(server.host(), server.port());
        }
        await("all have met").until(() -> nodes.stream().allMatch(this::knowsAll));
        for (int i = 0; i < PRIMARIES; i++) {
            nodes.get(PRIMARIES + i).clusterReplicate(nodes.get(i).clusterMyId());
        }
        await("all follow").until(() -> nodes.stream().skip(PRIMARIES)
                .allMatch(replica -> replica.info("replication").contains("link_status:up")));
        await("all are well").until(() -> nodes.stream().allMatch(TestCluster::isOk));
    }

    private boolean knowsAll(RedisCommands<String, String> node) {
        return node.clusterInfo().contains("cluster_known_nodes:" + servers.size() + "\r");
    }

    private static boolean isOk(RedisCommands<String, String> node) {
        String info = node.clusterInfo();
        return info.contains("cluster_state:ok") && info.contains("cluster_slots_ok:16384");
    }

    /** By a client that looks at the topology often. */
    @SuppressWarnings("deprecation") // by Lettuce 7, which has it by default
    RedisClusterClient client() {
        lettuce = RedisClusterClient.create(servers.get(1).uri());
        ClusterTopologyRefreshOptions often = ClusterTopologyRefreshOptions.builder()
                .enablePeriodicRefresh(Duration.ofMillis(500)).enableAllAdaptiveRefreshTriggers()
                .adaptiveRefreshTriggersTimeout(Duration.ofMillis(200)).build();
        lettuce.setOptions(ClusterClientOptions.builder().topologyRefreshOptions(often).build());
        return lettuce;
    }

    /** What a Spring Boot application says of it. */
    String property() {
        return "spring.data.redis.cluster.nodes=" + String.join(",", servers.stream()
                .map(server -> server.host() + ":" + server.port()).toList());
    }

    void loadModule(int index) {
        CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
        args.add("LOAD").add(SeckillServer.requiredModule());
        nodes.get(index).dispatch(MODULE, new StatusOutput<>(StringCodec.UTF8), args);
    }

    SeckillServer server(int index) {
        return servers.get(index);
    }

    RedisCommands<String, String> node(int index) {
        return nodes.get(index);
    }

    /** The primary at the beginning that has this key. */
    int primaryOf(String key) {
        int slot = SlotHash.getSlot(key);
        for (int i = 0; i < PRIMARIES; i++) {
            if (slot < (i + 1) * SLOTS / PRIMARIES) {
                return i;
            }
        }
        throw new IllegalStateException("slot " + slot);
    }

    /** A planned failover of each primary: its replica takes its place. */
    void failOver() throws Exception {
        for (int i = 0; i < PRIMARIES; i++) {
            RedisCommands<String, String> next = nodes.get(PRIMARIES + i);
            long[] asked = {System.nanoTime() - Duration.ofHours(1).toNanos()};
            await("promoted").until(() -> {
                boolean is = next.role().get(0).equals("master");
                // A server that was too slow gives it up after 5 seconds.
                if (!is && System.nanoTime() - asked[0] > Duration.ofSeconds(8).toNanos()) {
                    asked[0] = System.nanoTime();
                    next.clusterFailover(false);
                }
                return is;
            });
        }
    }

    /** Moves the slot of a key from one primary to another, a key at a time. */
    void move(String key, int from, int to) {
        int slot = SlotHash.getSlot(key);
        RedisCommands<String, String> source = nodes.get(from);
        RedisCommands<String, String> target = nodes.get(to);
        String targetId = target.clusterMyId();
        SeckillServer there = servers.get(to);
        target.clusterSetSlotImporting(slot, source.clusterMyId());
        source.clusterSetSlotMigrating(slot, targetId);
        while (source.clusterCountKeysInSlot(slot) > 0) {
            String next = source.clusterGetKeysInSlot(slot, 1).get(0);
            MigrateArgs<String> alone = MigrateArgs.Builder.key(next);
            source.migrate(there.host(), there.port(), 0, 5_000, alone);
        }
        for (int i : new int[] {to, from, PRIMARIES - from - to}) {
            nodes.get(i).clusterSetSlotNode(slot, targetId);
        }
    }

    @Override
    public void close() {
        if (lettuce != null) {
            lettuce.shutdown(0, 2, TimeUnit.SECONDS);
        }
        plain.shutdown(0, 2, TimeUnit.SECONDS);
        servers.forEach(SeckillServer::close);
    }
}
