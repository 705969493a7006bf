package shop.scripts;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

@Configuration
class RedissonConfiguration {
    @Bean(destroyMethod = "shutdown")
    RedissonClient redisson(@Value("${spring.data.redis.url}") String url) {
        Config config = new Config();
        config.useSingleServer()
                .setAddress(url)
                .setConnectionPoolSize(4)
                .setConnectionMinimumIdleSize(1);
        return Redisson.create(config);
    }
}
