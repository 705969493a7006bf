package io.github.seckill.spring;

import io.github.seckill.client.*;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.binder.MeterBinder;
import io.micrometer.observation.ObservationRegistry;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.AutoConfigureOrder;
import org.springframework.boot.autoconfigure.condition.*;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.Ordered;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.support.locks.LockRegistry;

/**
 * A {@link SeckillClient} over the application's own {@link RedisConnectionFactory}, the listeners
 * of orders, a lock registry, meters and a health indicator. It comes after all others, since those
 * of Redis and of meters have other names in Spring Boot 3 than in 4.
 */
@AutoConfiguration
@AutoConfigureOrder(Ordered.LOWEST_PRECEDENCE)
@ConditionalOnBean(RedisConnectionFactory.class)
@ConditionalOnProperty(name = "seckill.enabled", havingValue = "true", matchIfMissing = true)
@EnableConfigurationProperties(SeckillProperties.class)
public class SeckillAutoConfiguration {
    /** The one that the property names, else the application's only or primary one. */
    private static LettuceConnectionFactory factory(BeanFactory beans, @Nullable String name) {
        RedisConnectionFactory chosen = name == null
                ? beans.getBean(RedisConnectionFactory.class)
                : beans.getBean(name, RedisConnectionFactory.class);
        if (chosen instanceof LettuceConnectionFactory lettuce) {
            return lettuce;
        }
        throw new IllegalStateException(
                "The seckill starter needs Lettuce, and the connection factory is a "
                        + chosen.getClass().getName() + ": define a bean of type"
                        + " LettuceConnectionFactory, beside Redisson's starter, too; or set"
                        + " seckill.enabled=false");
    }

    @Bean
    @ConditionalOnMissingBean
    SeckillOptions seckillOptions(
            SeckillProperties properties, ObjectProvider<ObservationRegistry> observations) {
        return properties.options()
                .observations(observations.getIfUnique(() -> ObservationRegistry.NOOP));
    }

    /** Sends by the native client of the connection factory. */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    SeckillClient seckillClient(
            BeanFactory beans, SeckillProperties properties, SeckillOptions options) {
        LettuceConnectionFactory factory = factory(beans, properties.connectionFactory());
        return new SeckillClient(factory::getRequiredNativeClient, options);
    }

    /**
     * Stops and starts the client with the application context, whose connection factory has
     * another native client then: those of tests are stopped while they wait for the next test
     * class.
     */
    private record Lifecycle(SeckillClient client) implements SmartLifecycle {
        @Override
        public void start() {
            client.connect();
        }

        @Override
        public void stop() {
            client.disconnect();
        }

        @Override
        public boolean isRunning() {
            return client.isOpen();
        }

        /** Stops after the web server and the listeners, before the connection factory at 0. */
        @Override
        public int getPhase() {
            return 1024;
        }
    }

    @Bean
    SmartLifecycle seckillLifecycle(SeckillClient client) {
        return new Lifecycle(client);
    }

    @Bean
    ModuleProbe seckillModuleProbe(
            SeckillClient client, SeckillProperties properties,
            ObjectProvider<OrderListenerContainer> listeners) {
        return new ModuleProbe(
                client, properties.commandTimeout(), () -> listeners.stream().toList());
    }

    /** Serves methods with {@link SeckillOrderListener}. */
    @Bean
    @ConditionalOnMissingBean
    @ConditionalOnProperty(
            name = "seckill.listener.enabled", havingValue = "true", matchIfMissing = true)
    OrderListenerContainer seckillOrderListenerContainer(
            ConfigurableListableBeanFactory beans, SeckillProperties properties,
            ObjectProvider<OrderFailurePolicy> policy) {
        return new OrderListenerContainer(
                beans, () -> factory(beans, properties.connectionFactory()),
                properties.listener(), policy.getIfAvailable(OrderFailurePolicy::retryForever));
    }

    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(LockRegistry.class)
    static class Locks {
        /** Nothing is kept here: the client knows who holds what by key and thread. */
        @SuppressWarnings("rawtypes") // A type parameter was added in Spring Integration 7.
        private record Registry(SeckillClient client, String prefix) implements LockRegistry {
            @Override
            public SeckillLock obtain(Object lockKey) {
                return client.lock(prefix + lockKey);
            }
        }

        @Bean
        @ConditionalOnMissingBean(LockRegistry.class)
        @SuppressWarnings("rawtypes")
        LockRegistry seckillLockRegistry(SeckillClient client, SeckillProperties properties) {
            return new Registry(client, properties.lock().prefix());
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

    /** A shop without the module is {@code DOWN} before its first sale. Of Spring Boot 3. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(org.springframework.boot.actuate.health.HealthIndicator.class)
    @org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator(
            "seckill")
    static class HealthOfBoot3 {
        @Bean
        @ConditionalOnMissingBean(name = "seckillHealthIndicator")
        org.springframework.boot.actuate.health.HealthIndicator seckillHealthIndicator(
                ModuleProbe probe) {
            return new org.springframework.boot.actuate.health.AbstractHealthIndicator(
                    ModuleProbe.AWAY) {
                @Override
                protected void doHealthCheck(
                        org.springframework.boot.actuate.health.Health.Builder builder) {
                    ModuleProbe.Health health = probe.health();
                    builder.status(health.status()).withDetails(health.details());
                }
            };
        }
    }

    /** The same in Spring Boot 4, which has other packages for it. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(org.springframework.boot.health.contributor.HealthIndicator.class)
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
