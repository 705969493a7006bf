package io.github.seckill.spring.boot;

import io.github.seckill.client.SeckillClient;
import io.github.seckill.client.SeckillObserver;
import io.github.seckill.client.SeckillOptions;
import io.github.seckill.client.SeckillTransport;
import io.github.seckill.spring.SeckillTemplate;
import io.github.seckill.spring.boot.SeckillProperties.CheckOnStart;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.autoconfigure.condition.ConditionalOnSingleCandidate;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.context.annotation.Bean;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/**
 * A {@link SeckillClient} over the application's own {@link RedisConnectionFactory}, and a {@link
 * SeckillTemplate}.
 */
@AutoConfiguration(
        afterName = {
            "org.springframework.boot.autoconfigure.data.redis.RedisAutoConfiguration",
            "org.springframework.boot.data.redis.autoconfigure.DataRedisAutoConfiguration"
        })
@ConditionalOnSingleCandidate(RedisConnectionFactory.class)
@ConditionalOnProperty(name = "seckill.enabled", havingValue = "true", matchIfMissing = true)
@EnableConfigurationProperties(SeckillProperties.class)
public class SeckillAutoConfiguration {
    /** Makes the beans below. */
    public SeckillAutoConfiguration() {}

    /**
     * Sends by the native client of the connection factory.
     *
     * @param factory the application's own
     * @return the transport
     */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public SeckillTransport seckillTransport(RedisConnectionFactory factory) {
        return Transports.over(factory);
    }

    /**
     * What the properties say.
     *
     * @param properties the properties
     * @return the options
     */
    @Bean
    @ConditionalOnMissingBean
    public SeckillOptions seckillOptions(SeckillProperties properties) {
        return properties.options();
    }

    /**
     * The client.
     *
     * @param transport sends
     * @param options how it behaves
     * @param observer is notified of what it does, if there is one
     * @return the client
     */
    @Bean(destroyMethod = "close")
    @ConditionalOnMissingBean
    public SeckillClient seckillClient(
            SeckillTransport transport,
            SeckillOptions options,
            ObjectProvider<SeckillObserver> observer) {
        return new SeckillClient(
                transport, options, observer.getIfAvailable(SeckillObserver::none));
    }

    /**
     * The template.
     *
     * @param client sends the commands
     * @return the template
     */
    @Bean
    @ConditionalOnMissingBean
    public SeckillTemplate seckillTemplate(SeckillClient client) {
        return new SeckillTemplate(client);
    }

    /**
     * Looks for the module.
     *
     * @param transport asks the server
     * @param options say how long an answer is waited for
     * @param factory knows the nodes of a cluster
     * @return the probe
     */
    @Bean
    @ConditionalOnMissingBean
    public ModuleProbe seckillModuleProbe(
            SeckillTransport transport,
            SeckillOptions options,
            RedisConnectionFactory factory) {
        return new ModuleProbe(transport, options.commandTimeout(), factory);
    }

    /**
     * Says at the start that the module is missing.
     *
     * @param probe looks for it
     * @param properties say what then
     * @return what looks once all beans are there
     */
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
}
