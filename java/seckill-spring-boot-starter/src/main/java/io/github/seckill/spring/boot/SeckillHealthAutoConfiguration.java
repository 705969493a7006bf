package io.github.seckill.spring.boot;

import io.github.seckill.spring.boot.ModuleProbe.Found;
import java.util.List;
import org.springframework.boot.actuate.autoconfigure.health.ConditionalOnEnabledHealthIndicator;
import org.springframework.boot.actuate.health.AbstractHealthIndicator;
import org.springframework.boot.actuate.health.Health;
import org.springframework.boot.actuate.health.HealthIndicator;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** The health of a shop without the module is {@code DOWN} before its first sale. */
@AutoConfiguration(after = SeckillAutoConfiguration.class)
@ConditionalOnBean(ModuleProbe.class)
public class SeckillHealthAutoConfiguration {
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.actuate.health.HealthIndicator")
    @ConditionalOnEnabledHealthIndicator("seckill")
    static class Boot3 {
        @Bean
        @ConditionalOnMissingBean(name = "seckillHealthIndicator")
        HealthIndicator seckillHealthIndicator(ModuleProbe probe) {
            return new AbstractHealthIndicator(ModuleProbe.AWAY) {
                @Override
                protected void doHealthCheck(Health.Builder builder) {
                    List<Found> found = probe.look();
                    builder.status(ModuleProbe.status(found))
                            .withDetails(ModuleProbe.details(found));
                }
            };
        }
    }

    /** For Spring Boot 4, whose health has another package. */
    @Configuration(proxyBeanMethods = false)
    @ConditionalOnClass(name = "org.springframework.boot.health.contributor.HealthIndicator")
    @org.springframework.boot.health.autoconfigure.contributor.ConditionalOnEnabledHealthIndicator(
            "seckill")
    static class Boot4 {
        @Bean
        @ConditionalOnMissingBean(name = "seckillHealthIndicator")
        org.springframework.boot.health.contributor.HealthIndicator seckillHealthIndicator(
                ModuleProbe probe) {
            return new org.springframework.boot.health.contributor.AbstractHealthIndicator(
                    ModuleProbe.AWAY) {
                @Override
                protected void doHealthCheck(
                        org.springframework.boot.health.contributor.Health.Builder builder) {
                    List<Found> found = probe.look();
                    builder.status(ModuleProbe.status(found))
                            .withDetails(ModuleProbe.details(found));
                }
            };
        }
    }
}
