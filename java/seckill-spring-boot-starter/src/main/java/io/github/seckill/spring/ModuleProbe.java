package io.github.seckill.spring;

import io.github.seckill.client.SeckillClient;
import java.time.Duration;
import java.util.*;
import java.util.function.Supplier;

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
}
