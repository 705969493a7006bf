package io.github.seckill.spring.boot;

import static org.assertj.core.api.Assertions.assertThat;

import io.github.seckill.spring.SeckillTemplate;
import org.junit.jupiter.api.Test;
import org.springframework.beans.factory.annotation.Autowired;
import org.springframework.context.ApplicationContext;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.data.redis.connection.jedis.JedisConnectionFactory;
import org.springframework.test.context.TestPropertySource;

/** The same by Jedis. */
@TestPropertySource(properties = "spring.data.redis.client-type=jedis")
class JedisStarterTest extends StarterTest {
    private final ApplicationContext context;

    @Autowired
    JedisStarterTest(
            SeckillTemplate template, ApplicationContext context, ShopApplication application) {
        super(template, context, application);
        this.context = context;
    }

    @Test
    void itIsJedis() {
        assertThat(context.getBean(RedisConnectionFactory.class))
                .isInstanceOf(JedisConnectionFactory.class);
    }
}
