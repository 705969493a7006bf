package io.github.seckill.spring.boot;

import io.github.seckill.client.*;
import io.github.seckill.spring.SeckillLockRegistry;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.spring.boot.SeckillProperties.CheckOnStart;
import io.github.seckill.spring.listener.OrderFailurePolicy;
import io.github.seckill.spring.listener.OrderListenerContainer;
import io.github.seckill.spring.listener.OrderListenerObserver;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.observation.ObservationRegistry;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.annotation.Qualifier;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.*;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.ConfigurableEnvironment;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * A {@link SeckillClient} over the application's own {@link RedisConnectionFactory}, a {@link
 * SeckillTemplate}, the listeners of orders, a lock registry, meters and a health indicator.
 */
@AutoConfiguration(afterName = {
    "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
    "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration",
    "org.springframework.boot.actuate.autoconfigure.metrics"
            + ".CompositeMeterRegistryAutoConfiguration",
    "org.springframework.boot.micrometer.metrics.autoconfigure"
            + ".CompositeMeterRegistryAutoConfiguration"
})
@ConditionalOnBean(RedisConnectionFactory.class)
@ConditionalOnProperty(name = "seckill.enabled", havingValue = "true", matchIfMissing = true)
@EnableConfigurationProperties(SeckillProperties.class)
public class SeckillAutoConfiguration {
    private static final String CONTAINER = "seckillOrderListenerContainer";

    @Bean(destroyMethod = "close")
    ConnectionChoice seckillConnectionChoice(
            ConfigurableListableBeanFactory beans, ConfigurableEnvironment environment,
            SeckillProperties properties) {
        return new ConnectionChoice(beans, environment, properties.connectionFactory());
    }

    /** Sends by the native client of the connection factory. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    SeckillTransport seckillTransport(ConnectionChoice connections) {
        return connections.transport();
    }

    /** Over a transport of Lettuce, whoever has made it; else there is none. */
    @Bean
    Transports.@Nullable Lifecycle seckillTransportLifecycle(
            SeckillTransport transport, SeckillClient client) {
        return Transports.lifecycleOf(transport, client);
    }

    @Bean
    @ConditionalOnMissingBean
    SeckillOptions seckillOptions(SeckillProperties properties) {
        return properties.options();
    }

    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    SeckillClient seckillClient(
            SeckillTransport transport, SeckillOptions options,
            ObjectProvider<SeckillObserver> observer) {
        return new SeckillClient(
                transport, options, observer.getIfAvailable(SeckillObserver::none));
    }

    @Bean
    @ConditionalOnMissingBean
    SeckillTemplate seckillTemplate(
            SeckillClient client, ObjectProvider<ObservationRegistry> observations) {
        return new SeckillTemplate(
                client, observations.getIfUnique(() -> ObservationRegistry.NOOP));
    }

    @Bean
    ModuleProbe seckillModuleProbe(
            SeckillTransport transport, SeckillOptions options, ConnectionChoice connections,
            ObjectProvider<OrderListenerContainer> listeners,
            @Qualifier(CONTAINER) ObjectProvider<OrderListenerContainer> ours) {
        // A container that an application makes may read whatever it wants, and wherever.
        return new ModuleProbe(
                transport, options.commandTimeout(), connections,
                () -> listeners.stream().toList(),
                () -> ours.stream().findFirst().map(OrderListenerContainer::streams)
                        .orElse(Set.of()));
    }

    /** Serves methods with {@link io.github.seckill.spring.listener.SeckillOrderListener}. */
    @Bean(CONTAINER)
    @ConditionalOnMissingBean
    @ConditionalOnProperty(
            name = "seckill.listener.enabled", havingValue = "true", matchIfMissing = true)
    OrderListenerContainer seckillOrderListenerContainer(
            ConfigurableListableBeanFactory beans, ConnectionChoice connections,
            SeckillTransport transport, SeckillProperties properties,
            ObjectProvider<OrderFailurePolicy> policy,
            ObjectProvider<OrderListenerObserver> observer) {
        return new OrderListenerContainer(
                beans, connections::forListeners, properties.listener(),
                factory -> Transports.timeoutOf(factory).dividedBy(2),
                policy.getIfAvailable(OrderFailurePolicy::retryForever),
                observer.getIfAvailable(() -> OrderListenerObserver.NONE));
    }

    /** Says at the start what is missing or set wrong. Behind the listeners, whose streams it is. */
    @Bean
    SmartInitializingSingleton seckillStartCheck(
            ModuleProbe probe, SeckillProperties properties, ConfigurableEnvironment environment) {
        CheckOnStart check = properties.checkOnStart();
        return () -> {
            SeckillProperties.warnOfOthers(environment);
            if (check != CheckOnStart.OFF) {
                probe.check(check == CheckOnStart.FAIL);
            }
        };
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(LockRegistry.class)
    static class Locks {
        @Bean
        @ConditionalOnMissingBean(LockRegistry.class)
        SeckillLockRegistry seckillLockRegistry(
                SeckillClient client, SeckillProperties properties) {
            return new SeckillLockRegistry(client, properties.lock().prefix());
        }
    }

    /** Where there is a registry of Micrometer. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterRegistry.class)
    @ConditionalOnBean(MeterRegistry.class)
    @ConditionalOnProperty(
            name = "seckill.metrics.enabled", havingValue = "true", matchIfMissing = true)
    static class Metrics {
        @Bean
        @ConditionalOnMissingBean
        SeckillObserver seckillObserver(MeterRegistry registry, SeckillProperties properties) {
            return new Meters.OfClient(registry, properties.metrics().voucherTag());
        }

        @Bean
        @ConditionalOnMissingBean
        OrderListenerObserver seckillOrderListenerObserver(MeterRegistry registry) {
            return new Meters.OfListeners(registry);
        }
    }

    /** A shop without the module is {@code DOWN} before its first sale. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
    @ConditionalOnEnabledHealthIndicator("seckill")
    static class HealthOfBoot3 {
        @Bean
        @ConditionalOnMissingBean(name = "seckillHealthIndicator")
        HealthIndicator seckillHealthIndicator(ModuleProbe probe) {
            return new AbstractHealthIndicator(ModuleProbe.AWAY) {
                @Override
                protected void doHealthCheck(Health.Builder builder) {
                    ModuleProbe.Health health = probe.health();
                    builder.status(health.status()).withDetails(health.details());
                }
            };
        }
    }

    /** The health in Spring Boot 4, which has another package. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator(
            "seckill")
    static class HealthOfBoot4 {
        @Bean
        @ConditionalOnMissingBean(name = "seckillHealthIndicator")
        org.springframework.boot.health.contributor.HealthIndicator seckillHealthIndicator(
                ModuleProbe probe) {
            return new org.springframework.boot.health.contributor.AbstractHealthIndicator(
                    ModuleProbe.AWAY) {
                @Override
                protected void doHealthCheck(
                        org.springframework.boot.health.contributor.Health.Builder builder) {
                    ModuleProbe.Health health = probe.health();
                    builder.status(health.status()).withDetails(health.details());
                }
            };
        }
    }
}
