package io.github.seckill.spring;

import io.github.seckill.client.Printable;
import io.github.seckill.client.SeckillClient;
import java.time.Duration;
import java.util.*;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Whether the server, or every primary of a cluster, has the module, and whether listeners read.
 *
 * @param timeout how long it waits for each answer
 */
record ModuleProbe(
        SeckillClient client, Duration timeout, Supplier<List<OrderListenerContainer>> listeners) {
    static final String AWAY = "The server can't be asked whether it has the seckill module";

    private static final String ADVICE =
            "the server lacks the seckill module: add 'loadmodule <path>/libseckill.so' to its"
                    + " redis.conf, or MODULE LOAD it; every try would fail";
    private static final String PASSWORD =
            " Set spring.data.redis.username and spring.data.redis.password.";
    private static final Logger LOG = LoggerFactory.getLogger(ModuleProbe.class);
    private static final int CONNECTING = 5;

    /** {@code DOWN} if a node lacks the module, or a listener reads nothing. */
    record Health(String status, Map<String, Object> details) {}

    Health health() {
        Map<String, Boolean> found = client.modules(timeout);
        Map<String, Object> details = new LinkedHashMap<>();
        found.forEach((node, has) -> details.put(node, has ? "module loaded" : ADVICE));
        Map<String, String> failures = new LinkedHashMap<>();
        listeners.get().forEach(container -> failures.putAll(container.failures()));
        failures.forEach((group, why) -> details.put("listener " + group, "reads nothing: " + why));
        boolean loaded = !found.isEmpty() && !found.containsValue(false);
        return new Health(loaded && failures.isEmpty() ? "UP" : "DOWN", details);
    }

    /** Says what is missing; throws it, if asked to. A server that is down is no mistake. */
    void check(boolean fail) {
        Map<String, Boolean> found;
        try {
            // The first connection may take longer than an answer, with TLS above all.
            found = client.modules(timeout.multipliedBy(CONNECTING));
        } catch (RuntimeException away) {
            String why = Printable.why(away);
            LOG.warn(
                    "Can't ask the server whether it has the seckill module: {}{}", why,
                    why.matches(".*(NOAUTH|WRONGPASS).*") ? PASSWORD : "");
            return;
        }
        List<String> without =
                found.keySet().stream().filter(node -> !found.get(node)).toList();
        String message = String.join(", ", without) + ": " + ADVICE;
        if (!without.isEmpty() && fail) {
            throw new ConnectionChoice.Unclear(
                    message, "Load the module, or set seckill.check-on-start=warn.");
        }
        if (!without.isEmpty()) {
            LOG.error(message);
        }
    }
}
