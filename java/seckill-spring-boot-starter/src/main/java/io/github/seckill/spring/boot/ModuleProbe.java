package io.github.seckill.spring.boot;

import io.github.seckill.client.Printable;
import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import io.github.seckill.spring.listener.OrderListenerContainer;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.CompletionException;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.*;

/**
 * Finds out whether the server, or every primary of a cluster, has the module, without a sale: asks
 * how a voucher stands that nobody has made. It asks once: a health check has no time to ask again.
 *
 * @param timeout how long it waits for each answer
 * @param connections know the nodes of a cluster
 * @param listeners know whether they read
 */
record ModuleProbe(
        SeckillTransport transport, Duration timeout, ConnectionChoice connections,
        Supplier<List<OrderListenerContainer>> listeners) {
    /** What a server that lacks the module needs. */
    static final String ADVICE =
            "the server lacks the seckill module: add 'loadmodule <path>/libseckill.so' to its"
                    + " redis.conf, or MODULE LOAD it; every try would fail";

    private static final String PASSWORD =
            " Set spring.data.redis.username and spring.data.redis.password.";

    static final String AWAY = "The server can't be asked whether it has the seckill module";

    private static final Logger LOG = LoggerFactory.getLogger(ModuleProbe.class);
    private static final int CONNECTING = 5;
    private static final String VOUCHER = "seckill-health";

    /**
     * Whether a node has the module.
     *
     * @param node its address, or {@code server} where there is no cluster
     */
    record Found(String node, boolean hasModule) {}

    /**
     * Asks the server, or each primary of a cluster that has slots.
     *
     * @throws SeckillException if a server can't be asked
     * @throws org.springframework.dao.DataAccessException likewise
     */
    private List<Found> look(Duration patience) {
        List<Found> found = new ArrayList<>();
        vouchersOfNodes().forEach((node, voucher) -> found.add(ask(node, voucher, patience)));
        return found;
    }

    /** {@code DOWN} if a node lacks the module, or a listener reads nothing. */
    record Health(String status, Map<String, Object> details) {}

    Health health() {
        List<Found> found = look(timeout);
        Map<String, Object> details = new LinkedHashMap<>();
        found.forEach(node ->
                details.put(node.node(), node.hasModule() ? "module loaded" : ADVICE));
        boolean loaded = !found.isEmpty() && found.stream().allMatch(Found::hasModule);
        Map<String, String> failures = new LinkedHashMap<>();
        listeners.get().forEach(container -> failures.putAll(container.failures()));
        failures.forEach((group, why) -> details.put("listener " + group, "reads nothing: " + why));
        return new Health(loaded && failures.isEmpty() ? "UP" : "DOWN", details);
    }

    private Found ask(String node, String voucher, Duration patience) {
        // NOVOUCHER is expected. NOPERM comes after the command was found, too.
        boolean lacks = false;
        try {
            Request info = new Request("SECKILL.INFO", List.of(voucher), true);
            transport.send(info, patience).join();
        } catch (CompletionException failed) {
            if (!(failed.getCause() instanceof SeckillException answer)) {
                throw failed;
            }
            if (answer instanceof SeckillException.NoAnswer
                    || answer instanceof SeckillException.NotNow) {
                throw answer;
            }
            lacks = answer.code() == SeckillException.Code.NOMODULE;
        }
        return new Found(node, !lacks);
    }

    private Map<String, String> vouchersOfNodes() {
        if (!transport.isCluster()) {
            return Map.of("server", VOUCHER);
        }
        try (RedisConnection connection = connections.factory().getConnection()) {
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
            // The first connection may take longer than an answer, with TLS above all.
            Duration patience = timeout.multipliedBy(CONNECTING);
            without = look(patience).stream()
                    .filter(found -> !found.hasModule()).map(Found::node).toList();
        } catch (RuntimeException away) {
            String why = Printable.why(away);
            LOG.warn(
                    "Can't ask the server whether it has the seckill module: {}{}", why,
                    why.matches(".*(NOAUTH|WRONGPASS).*") ? PASSWORD : "");
            return;
        }
        if (without.isEmpty()) {
            return;
        }
        String message = String.join(", ", without) + ": " + ADVICE;
        if (fail) {
            throw new ConnectionChoice.Unclear(
                    message, "Load the module, or set seckill.check-on-start=warn.");
        }
        LOG.error(message);
    }
}
