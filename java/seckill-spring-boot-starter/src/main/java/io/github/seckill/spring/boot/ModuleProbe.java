package io.github.seckill.spring.boot;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.ClusterSlotHashUtil;
import org.springframework.data.redis.connection.RedisClusterConnection;
import org.springframework.data.redis.connection.RedisClusterNode;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * Finds out whether the server, or every primary of a cluster, has the module, without a sale: asks
 * how a voucher stands that nobody has made. It asks once: a health check has no time to ask again.
 *
 * @param timeout how long it waits for each answer
 * @param factory knows the nodes of a cluster
 */
public record ModuleProbe(
        SeckillTransport transport, Duration timeout, RedisConnectionFactory factory) {
    /** What a server that lacks the module needs. */
    public static final String ADVICE =
            "the server lacks the seckill module: add 'loadmodule <path>/libseckill.so' to its"
                    + " redis.conf, or MODULE LOAD it; every try would fail";

    static final String AWAY = "The server can't be asked whether it has the seckill module";

    private static final Logger LOG = LoggerFactory.getLogger(ModuleProbe.class);
    private static final String VOUCHER = "seckill-health";

    /**
     * Whether a node has the module.
     *
     * @param node its address, or {@code server} where there is no cluster
     */
    public record Found(String node, boolean hasModule) {}

    /**
     * Asks the server, or each primary of a cluster that has slots.
     *
     * @throws SeckillException if a server can't be asked
     * @throws org.springframework.dao.DataAccessException likewise
     */
    public List<Found> look() {
        List<Found> found = new ArrayList<>();
        vouchersOfNodes().forEach((node, voucher) -> found.add(ask(node, voucher)));
        return found;
    }

    /** Which nodes have the module. */
    static Map<String, Object> details(List<Found> found) {
        Map<String, Object> details = new LinkedHashMap<>();
        found.forEach(node ->
                details.put(node.node(), node.hasModule() ? "module loaded" : ADVICE));
        return details;
    }

    static String status(List<Found> found) {
        return !found.isEmpty() && found.stream().allMatch(Found::hasModule) ? "UP" : "DOWN";
    }

    private Found ask(String node, String voucher) {
        Request info = new Request("SECKILL.INFO", List.of(voucher), true);
        try {
            transport.send(info, timeout).toCompletableFuture().join();
        } catch (CompletionException failed) {
            if (!(failed.getCause() instanceof SeckillException answer)) {
                throw failed;
            }
            if (answer instanceof SeckillException.NoAnswer
                    || answer instanceof SeckillException.NotNow) {
                throw answer;
            }
            // NOVOUCHER is expected. NOPERM comes after the command was found, too.
            return new Found(node, answer.code() != SeckillException.Code.NOMODULE);
        }
        return new Found(node, true);
    }

    private Map<String, String> vouchersOfNodes() {
        try (RedisConnection connection = factory.getConnection()) {
            if (!(connection instanceof RedisClusterConnection cluster)) {
                return Map.of("server", VOUCHER);
            }
            Map<String, String> vouchers = new LinkedHashMap<>();
            for (RedisClusterNode node : cluster.clusterGetNodes()) {
                if (node.isMaster() && !node.getSlotRange().getSlots().isEmpty()) {
                    vouchers.put(node.asString(), voucherOf(node));
                }
            }
            return vouchers;
        }
    }

    private static String voucherOf(RedisClusterNode node) {
        for (int i = 0; ; i++) {
            String voucher = VOUCHER + i;
            if (node.servesSlot(ClusterSlotHashUtil.calculateSlot(voucher))) {
                return voucher;
            }
        }
    }

    /** Says what is missing; throws it, if asked to. A server that is down is no mistake. */
    void check(boolean fail) {
        List<String> without;
        try {
            without = look().stream().filter(found -> !found.hasModule()).map(Found::node).toList();
        } catch (RuntimeException away) {
            LOG.warn("Can't ask the server whether it has the seckill module: {}", away.toString());
            return;
        }
        if (without.isEmpty()) {
            return;
        }
        String message = String.join(", ", without) + ": " + ADVICE;
        if (fail) {
            throw new IllegalStateException(message);
        }
        LOG.error(message);
    }
}
