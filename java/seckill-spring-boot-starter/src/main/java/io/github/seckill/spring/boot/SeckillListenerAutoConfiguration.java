package io.github.seckill.spring.boot;

import io.github.seckill.spring.listener.OrderFailurePolicy;
import io.github.seckill.spring.listener.OrderListenerContainer;
import io.github.seckill.spring.listener.OrderListenerObserver;
import java.time.Duration;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Serves methods with {@link io.github.seckill.spring.listener.SeckillOrderListener}. */
@AutoConfiguration(after = SeckillAutoConfiguration.class)
@ConditionalOnBean(SeckillProperties.class)
@ConditionalOnProperty(
        name = "seckill.listener.enabled",
        havingValue = "true",
        matchIfMissing = true)
public class SeckillListenerAutoConfiguration {
    /** Reads the streams. */
    @Bean
    @ConditionalOnMissingBean
    public OrderListenerContainer seckillOrderListenerContainer(
            ConfigurableListableBeanFactory beans, RedisConnectionFactory factory,
            SeckillProperties properties, ObjectProvider<OrderFailurePolicy> policy,
            ObjectProvider<OrderListenerObserver> observer) {
        // A read that waits longer than the factory's time-out would end as a failure.
        Duration pollMost = Transports.timeoutOf(factory).dividedBy(2);
        return new OrderListenerContainer(
                beans, factory, properties.listener(), pollMost,
                policy.getIfAvailable(OrderFailurePolicy::retryForever),
                observer.getIfAvailable(() -> OrderListenerObserver.NONE));
    }
}
