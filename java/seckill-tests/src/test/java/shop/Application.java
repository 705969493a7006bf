package shop;

import io.github.seckill.spring.*;
import io.github.seckill.test.SeckillServer;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import jakarta.annotation.PreDestroy;
import java.util.*;
import java.util.concurrent.*;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.WebApplicationType;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.*;
import org.springframework.context.annotation.Bean;
import org.springframework.test.util.ReflectionTestUtils;

/** A Spring Boot application on virtual threads, where the JDK has them, with one listener. */
@EnableAutoConfiguration
public class Application {
    /** What the listener of an entry does before its row is written. */
    interface Work {
        void on(OrderEvent event) throws Exception;
    }

    /** Redisson's starter is on the class path: only its test wants it. */
    static final String NO_REDISSON =
            "spring.autoconfigure.exclude=org.redisson.spring.starter.RedissonAutoConfigurationV2,"
                    + "org.redisson.spring.starter.RedissonAutoConfigurationV4";

    static volatile Work work = event -> {};
    final Map<String, OrderEvent> rows = new ConcurrentHashMap<>();
    final List<String> calls = new CopyOnWriteArrayList<>();

    public static ConfigurableApplicationContext run(
            Class<?> application, @Nullable SeckillServer server, String... properties) {
        List<String> all = new ArrayList<>(List.of(
                "spring.application.name=rows", "spring.threads.virtual.enabled=true",
                "seckill.listener.poll=20ms", "seckill.listener.retry-first=50ms",
                "seckill.listener.retry-most=200ms",
                // A busy machine takes long to connect.
                "seckill.command-timeout=20s", "seckill.retry-for=60s",
                NO_REDISSON));
        if (server != null) {
            all.add("spring.data.redis.url=" + server.uri());
        }
        all.addAll(List.of(properties));
        return new SpringApplicationBuilder(application).web(WebApplicationType.NONE)
                .properties(all.toArray(String[]::new)).run();
    }

    /** As /actuator/health shows the component: Spring Boot 3 and 4 have another type for it. */
    static String health(ApplicationContext context) {
        Object indicator = context.getBean("seckillHealthIndicator");
        Object health = ReflectionTestUtils.invokeMethod(indicator, "health");
        return String.valueOf(health);
    }

    @Bean
    SimpleMeterRegistry meterRegistry() {
        return new SimpleMeterRegistry();
    }

    @PreDestroy
    void workAsUsual() {
        work = event -> {};
    }

    @SeckillOrderListener
    void row(OrderEvent event, String idempotencyKey) throws Exception {
        calls.add(idempotencyKey);
        work.on(event);
        rows.putIfAbsent(idempotencyKey, event);
    }
}
