package io.github.seckill.spring.boot;

import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.test.util.ReflectionTestUtils;

/** An application that has nothing but the starter. */
@EnableAutoConfiguration
class ShopApplication {
    final List<String> keys = new CopyOnWriteArrayList<>();
    private final Set<String> failed = ConcurrentHashMap.newKeySet();

    /** Whether its listener fails at everything once. */
    @Value("${shop.fails-once:false}")
    private boolean failsOnce;

    /** Starts it. */
    static ConfigurableApplicationContext run(String... properties) {
        return new SpringApplicationBuilder(ShopApplication.class)
                .web(WebApplicationType.NONE).properties("spring.application.name=shop")
                .properties(properties).run();
    }

    static String health(ApplicationContext context) {
        Object health = context.getBean("seckillHealthIndicator");
        Object found = ReflectionTestUtils.invokeMethod(health, "health");
        return String.valueOf(found);
    }

    @Bean
    SimpleMeterRegistry meterRegistry() {
        return new SimpleMeterRegistry();
    }

    @SeckillOrderListener
    void on(OrderPlaced placed, String idempotencyKey) {
        if (failsOnce && failed.add(idempotencyKey)) {
            throw new IllegalStateException("the database is down");
        }
        keys.add(idempotencyKey);
    }
}
