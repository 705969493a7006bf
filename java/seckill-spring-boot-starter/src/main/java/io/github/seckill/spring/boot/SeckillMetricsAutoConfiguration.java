package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillObserver;
import io.github.seckill.spring.listener.OrderListenerObserver;
import io.micrometer.core.instrument.MeterRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;

/** Meters of Micrometer, where there is a registry. */
@AutoConfiguration(
        beforeName = "io.github.seckill.spring.boot.SeckillAutoConfiguration",
        afterName = {
            "org.springframework.boot.actuate.autoconfigure.metrics"
                    + ".CompositeMeterRegistryAutoConfiguration",
            "org.springframework.boot.micrometer.metrics.autoconfigure"
                    + ".CompositeMeterRegistryAutoConfiguration"
        })
@ConditionalOnClass(MeterRegistry.class)
@ConditionalOnBean(MeterRegistry.class)
@ConditionalOnProperty(
        name = "seckill.metrics.enabled",
        havingValue = "true",
        matchIfMissing = true)
@EnableConfigurationProperties(SeckillProperties.class)
public class SeckillMetricsAutoConfiguration {
    @Bean
    @ConditionalOnMissingBean
    public SeckillObserver seckillObserver(MeterRegistry registry, SeckillProperties properties) {
        return new Meters.OfClient(registry, properties.metrics().voucherTag());
    }

    @Bean
    @ConditionalOnMissingBean
    public OrderListenerObserver seckillOrderListenerObserver(MeterRegistry registry) {
        return new Meters.OfListeners(registry);
    }
}
