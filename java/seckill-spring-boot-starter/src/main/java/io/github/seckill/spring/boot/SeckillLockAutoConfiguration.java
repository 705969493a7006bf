package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.spring.lock.SeckillLockRegistry;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.context.annotation.Bean;
import org.springframework.integration.support.locks.LockRegistry;

/** A lock registry of Spring Integration, where it is used. */
@AutoConfiguration(after = SeckillAutoConfiguration.class)
@ConditionalOnClass(LockRegistry.class)
@ConditionalOnBean(SeckillClient.class)
public class SeckillLockAutoConfiguration {
    /** The registry. */
    @Bean
    @ConditionalOnMissingBean(LockRegistry.class)
    public SeckillLockRegistry seckillLockRegistry(
            SeckillClient client, SeckillProperties properties) {
        return new SeckillLockRegistry(
                client, properties.lock().prefix(), properties.lock().options());
    }
}
