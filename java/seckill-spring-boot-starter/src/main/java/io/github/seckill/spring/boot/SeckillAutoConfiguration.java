package io.github.seckill.spring.boot;

import io.github.seckill.client.*;
import io.github.seckill.client.lettuce.LettuceTransport;
import io.github.seckill.spring.SeckillLockRegistry;
import io.github.seckill.spring.boot.SeckillProperties.CheckOnStart;
import io.github.seckill.spring.listener.OrderFailurePolicy;
import io.github.seckill.spring.listener.OrderListenerContainer;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
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
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * A {@link SeckillClient} over the application's own {@link RedisConnectionFactory}, the listeners
 * of orders, a lock registry, meters and a health indicator.
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
    @Bean
    ConnectionChoice seckillConnectionChoice(
            ConfigurableListableBeanFactory beans, SeckillProperties properties) {
        return new ConnectionChoice(beans, properties.connectionFactory());
    }

    /** Sends by the native client of the connection factory. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    SeckillTransport seckillTransport(ConnectionChoice connections) {
        return connections.transport();
    }

    /** Over a transport of Lettuce, whoever has made it; else there is none. */
    @Bean
    @Nullable TransportLifecycle seckillTransportLifecycle(
            SeckillTransport transport, SeckillClient client) {
        return transport instanceof LettuceTransport lettuce
                ? new TransportLifecycle(lettuce, client)
                : null;
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
            ObjectProvider<ObservationRegistry> observations) {
        return new SeckillClient(
                transport, options, observations.getIfUnique(() -> ObservationRegistry.NOOP));
    }

    @Bean
    ModuleProbe seckillModuleProbe(
            SeckillTransport transport, SeckillOptions options, ConnectionChoice connections,
            ObjectProvider<OrderListenerContainer> listeners) {
        return new ModuleProbe(
                transport, options.commandTimeout(), connections,
                () -> listeners.stream().toList());
    }

    /** Serves methods with {@link io.github.seckill.spring.listener.SeckillOrderListener}. */
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnProperty(
            name = "seckill.listener.enabled", havingValue = "true", matchIfMissing = true)
    OrderListenerContainer seckillOrderListenerContainer(
            ConfigurableListableBeanFactory beans, ConnectionChoice connections,
            SeckillProperties properties, ObjectProvider<OrderFailurePolicy> policy) {
        return new OrderListenerContainer(
                beans, connections::factory, properties.listener(),
                policy.getIfAvailable(OrderFailurePolicy::retryForever));
    }

    /** Says at the start what is missing. */
    @Bean
    SmartInitializingSingleton seckillStartCheck(
            ModuleProbe probe, SeckillProperties properties) {
        CheckOnStart check = properties.checkOnStart();
        return () -> {
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

    /** What is a state and no call, which observations do not measure. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(MeterBinder.class)
    static class Meters {
        @Bean
        MeterBinder seckillMeters(
                SeckillClient client, ObjectProvider<OrderListenerContainer> listeners) {
            return registry -> {
                FunctionCounter.builder("seckill.repeated", client, SeckillClient::repeated)
                        .description("Commands that were sent again").register(registry);
                FunctionCounter.builder("seckill.try.commands", client, SeckillClient::tryCommands)
                        .description("Commands that were sent for tries").register(registry);
                listeners.forEach(container -> container.groups().forEach(group -> {
                    Gauge.builder("seckill.listener.reading", () -> container.reading(group))
                            .description("Consumers that read entries").tag("group", group)
                            .register(registry);
                    Gauge.builder(
                                    "seckill.listener.intake.stopped",
                                    () -> container.intakeStopped(group))
                            .description("Consumers that fail at everything and read nothing new")
                            .tag("group", group).register(registry);
                }));
            };
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
