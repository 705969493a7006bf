package shop;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.client.*;
import io.github.seckill.spring.boot.SeckillAutoConfiguration;
import io.github.seckill.spring.listener.OrderListenerContainer;
import io.micrometer.core.instrument.binder.MeterBinder;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.mockito.Mockito;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.integration.support.locks.LockRegistry;

/** What an application has of its own comes first, and what it has not is not needed. */
class OverridesTest {
    private final ApplicationContextRunner runner = new ApplicationContextRunner()
            .withConfiguration(AutoConfigurations.of(SeckillAutoConfiguration.class))
            .withPropertyValues("seckill.check-on-start=off");

    private ApplicationContextRunner withRedis() {
        return runner.withBean(LettuceConnectionFactory.class);
    }

    @Test
    void withoutRedisThereIsNothing() {
        runner.run(context -> assertThat(context).doesNotHaveBean(SeckillClient.class));
    }

    @Test
    void itCanBeSwitchedOff() {
        withRedis().withPropertyValues("seckill.enabled=false").run(context ->
                assertThat(context)
                        .hasNotFailed().doesNotHaveBean(SeckillClient.class)
                        .doesNotHaveBean(OrderListenerContainer.class));
        withRedis().run(context -> assertThat(context)
                .hasSingleBean(MeterBinder.class).hasSingleBean(OrderListenerContainer.class));
        withRedis().withPropertyValues("seckill.listener.enabled=false").run(context ->
                assertThat(context).doesNotHaveBean(OrderListenerContainer.class));
    }

    @Test
    void propertiesBecomeOptions() {
        SeckillOptions changed = SeckillOptions.defaults()
                .commandTimeout(Duration.ofMillis(300)).coalescing(Coalescing.ON)
                .coalescingWindow(Duration.ofMillis(1)).batchMax(64);
        assertOptions(
                changed, "seckill.command-timeout=300ms", "seckill.coalescing=on",
                "seckill.coalescing-window=1ms", "seckill.batch-max=64");
        assertOptions(SeckillOptions.defaults());
    }

    private void assertOptions(SeckillOptions expected, String... properties) {
        withRedis().withPropertyValues(properties).run(context ->
                assertThat(context.getBean(SeckillOptions.class))
                        .usingRecursiveComparison().isEqualTo(expected));
    }

    @Test
    void jedisIsRefusedWithTheWayOut() {
        runner.withBean(JedisConnectionFactory.class).run(context ->
                assertThat(context).getFailure().rootCause()
                        .hasMessageStartingWith("The seckill starter needs Lettuce"));
    }

    @Test
    void ownBeansComeFirst() {
        SeckillClient own = Mockito.mock(SeckillClient.class);
        SeckillTransport transport = Mockito.mock(SeckillTransport.class);
        withRedis().withBean(SeckillTransport.class, () -> transport)
                .withBean(SeckillClient.class, () -> own).run(context ->
                        assertThat(context.getBean(SeckillClient.class)).isSameAs(own));
    }

    @Test
    void micrometerAndSpringIntegrationMayBeAbsent() {
        withRedis()
                .withClassLoader(new FilteredClassLoader(MeterBinder.class, LockRegistry.class))
                .run(context -> assertThat(context)
                        .hasNotFailed().hasSingleBean(RedisConnectionFactory.class)
                        .hasSingleBean(SeckillClient.class));
    }
}
