package shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.github.seckill.spring.*;
import io.github.seckill.test.SeckillServer;
import java.time.Duration;
import java.util.*;
import java.util.stream.IntStream;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.boot.test.util.TestPropertyValues;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
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

    final LettuceConnectionFactory factory = newFactory();
    final SeckillClient client = client(PATIENT);
    final StringRedisTemplate redis;
    Duration claimAfter = Duration.ofMillis(300);
    Duration shutdownWithin = Duration.ofSeconds(10);
    private final List<AnnotationConfigApplicationContext> contexts = new ArrayList<>();

    ListenerShop() {
        this(SeckillServer.program());
    }

    ListenerShop(String program) {
        super(program);
        factory.afterPropertiesSet();
        factory.start();
        redis = new StringRedisTemplate(factory);
    }

    private LettuceConnectionFactory newFactory() {
        return new LettuceConnectionFactory(
                new RedisStandaloneConfiguration(server.host(), server.port()));
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
        var context = new AnnotationConfigApplicationContext(beans);
        contexts.add(context);
        TestPropertyValues.of(
                "seckill.listener.poll=20ms",
                "seckill.listener.claim-after=" + claimAfter.toMillis() + "ms",
                "seckill.listener.retry-first=" + RETRY_FIRST.toMillis() + "ms",
                "seckill.listener.retry-most=" + RETRY_MOST.toMillis() + "ms",
                "seckill.listener.shutdown-within=" + shutdownWithin.toSeconds() + "s")
                .applyTo(context);
        context.registerBean(LettuceConnectionFactory.class, this::newFactory);
        context.registerBean(
                "policy", OrderFailurePolicy.class, () -> policy, bean -> bean.setPrimary(true));
        context.register(SeckillAutoConfiguration.class);
        context.refresh();
        return context.getBean(OrderListenerContainer.class);
    }

    void buy(String voucher, String user, String orderId) {
        assertThat(client.tryBuy(voucher, user, orderId).isAccepted()).isTrue();
    }

    /** Another user each buys a unit of voucher 7: o and the number is the order. */
    void buyAll(int first, int last) {
        IntStream.rangeClosed(first, last).forEach(i -> buy("7", "u" + i, "o" + i));
    }

    Order.State state(String orderId) {
        return client.order("7", orderId).orElseThrow().state();
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
        contexts.forEach(AnnotationConfigApplicationContext::close);
        factory.destroy();
        super.close();
    }
}
