package shop;

import static io.github.seckill.client.Commands.order;
import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.github.seckill.spring.listener.*;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.data.domain.Range;
import org.springframework.data.redis.connection.RedisStandaloneConfiguration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.PendingMessage;
import org.springframework.data.redis.core.StringRedisTemplate;

/** A shop, and applications that listen. */
final class ListenerShop extends Shop {
    static final String ORDERS = "stream.orders";
    static final String GROUP = "rows";
    static final OrderFailurePolicy RETRY = OrderFailurePolicy.retryForever();
    static final Duration RETRY_FIRST = Duration.ofMillis(40);
    static final Duration RETRY_MOST = RETRY_FIRST.multipliedBy(4);
    static final SaleRules HELD = SaleRules.none().hold(Duration.ofMinutes(10));

    final LettuceConnectionFactory factory = new LettuceConnectionFactory(
            new RedisStandaloneConfiguration(server.host(), server.port()));
    final SeckillClient client;
    final StringRedisTemplate redis;
    Duration claimAfter = Duration.ofMillis(300);
    private final List<OrderListenerContainer> containers = new ArrayList<>();

    ListenerShop() {
        factory.afterPropertiesSet();
        factory.start();
        client = client(SeckillOptions.defaults());
        redis = new StringRedisTemplate(factory);
    }

    /** Starts an application whose beans listen. */
    OrderListenerContainer start(OrderFailurePolicy policy, Object... beans) {
        DefaultListableBeanFactory factory = new DefaultListableBeanFactory();
        for (Object bean : beans) {
            factory.registerSingleton(bean.getClass().getName(), bean);
        }
        return start(policy, factory);
    }

    OrderListenerContainer start(OrderFailurePolicy policy, DefaultListableBeanFactory beans) {
        OrderListenerContainer container = new OrderListenerContainer(
                beans, () -> factory, options(claimAfter, RETRY_FIRST, RETRY_MOST), policy);
        containers.add(container);
        container.afterSingletonsInstantiated();
        container.start();
        return container;
    }

    static OrderListenerOptions options(
            Duration claimAfter, Duration retryFirst, Duration retryMost) {
        return new OrderListenerOptions(
                true, null, ORDERS, "userId voucherId id", List.of(), 1, 100, Duration.ofMillis(20),
                claimAfter, retryFirst, retryMost, Duration.ofSeconds(10));
    }

    void buy(String voucher, String user, String orderId) {
        assertThat(client.tryBuy(voucher, user, orderId)).isEqualTo(Outcome.ACCEPTED);
    }

    /** Another user each buys a unit of voucher 7: o and the number is the order. */
    void buyAll(int first, int last) {
        IntStream.rangeClosed(first, last).forEach(i -> buy("7", "u" + i, "o" + i));
    }

    OrderState state(String orderId) {
        return client.run(order("7", orderId)).orElseThrow().state();
    }

    List<PendingMessage> pending(String stream) {
        return redis.opsForStream().pending(stream, GROUP, Range.unbounded(), 100).toList();
    }

    List<Map<Object, Object>> entries(String stream) {
        var records = redis.opsForStream().range(stream, Range.unbounded());
        return records == null ? List.of() : records.stream().map(r -> r.getValue()).toList();
    }

    @Override
    public void close() {
        containers.forEach(OrderListenerContainer::stop);
        factory.destroy();
        super.close();
    }
}
