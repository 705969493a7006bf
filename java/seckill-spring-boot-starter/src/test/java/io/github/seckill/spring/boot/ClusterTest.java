package io.github.seckill.spring.boot;

import static io.github.seckill.client.Commands.*;
import static io.github.seckill.spring.Patience.await;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SaleRules;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.test.SeckillServer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.RedisURI;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.springframework.context.ConfigurableApplicationContext;

/** A cluster of two primaries. */
class ClusterTest {
    private final List<SeckillServer> nodes = new ArrayList<>();

    @AfterEach
    void end() {
        nodes.forEach(SeckillServer::close);
    }

    private void addNode(boolean withModule) {
        String[] options = {"--cluster-enabled", "yes"};
        nodes.add(withModule
                ? SeckillServer.start(options)
                : SeckillServer.start(SeckillServer.program(), List.of(options)));
    }

    /** Each node has half of the slots. */
    private void join() {
        int half = 16_384 / 2;
        RedisClient client = RedisClient.create();
        try (var first = client.connect(RedisURI.create(nodes.get(0).uri()));
                var second = client.connect(RedisURI.create(nodes.get(1).uri()))) {
            first.sync().clusterAddSlots(IntStream.range(0, half).toArray());
            second.sync().clusterAddSlots(IntStream.range(half, 2 * half).toArray());
            second.sync().clusterMeet(nodes.get(0).host(), nodes.get(0).port());
            for (var node : List.of(first, second)) {
                await().until(() -> isComplete(node.sync().clusterInfo()));
            }
        } finally {
            client.shutdown(Duration.ZERO, Duration.ZERO);
        }
    }

    private static boolean isComplete(String info) {
        return info.contains("cluster_state:ok") && info.contains("cluster_known_nodes:2");
    }

    private ConfigurableApplicationContext run() {
        List<String> addresses =
                nodes.stream().map(node -> node.host() + ":" + node.port()).toList();
        return ShopApplication.run(
                "spring.data.redis.cluster.nodes=" + String.join(",", addresses),
                "seckill.listener.tags=shop1,shop2", "seckill.listener.poll=50ms");
    }

    @Test
    void salesOfAllTagsAreMadeAndHandedOver() {
        addNode(true);
        addNode(true);
        join();
        try (var context = run()) {
            SeckillTemplate template = context.getBean(SeckillTemplate.class);
            List<String> expected = new ArrayList<>();
            // One of these tags is on each node.
            for (String voucher : List.of("{shop1}:7", "{shop2}:7")) {
                template.run(create(voucher, 2, SaleRules.none()));
                assertThat(template.tryBuy(voucher, "alice", "a1")).isEqualTo(Outcome.ACCEPTED);
                assertThat(template.run(audit(voucher)).isSound()).isTrue();
                String name = voucher.replace("{", "%7B").replace("}", "%7D").replace(":", "%3A");
                expected.add("placed:" + template.run(info(voucher)).sale() + ":" + name + ":a1");
            }
            ShopApplication application = context.getBean(ShopApplication.class);
            await().until(() -> application.keys.containsAll(expected));
            assertThat(ShopApplication.health(context))
                    .startsWith("UP").matches(".*module loaded.*module loaded.*");
        }
    }

    @Test
    void theHealthNamesTheNodeThatLacksTheModule() {
        addNode(true);
        addNode(false);
        join();
        try (var context = run()) {
            assertThat(ShopApplication.health(context))
                    .startsWith("DOWN").contains(nodes.get(0).port() + "=module loaded")
                    .contains(nodes.get(1).port() + "=" + ModuleProbe.ADVICE);
        }
    }
}
