package io.github.seckill.spring.boot;

import io.github.seckill.spring.listener.OrderPlaced;
import io.github.seckill.spring.listener.SeckillOrderListener;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

/** An application that has nothing but the starter. */
@SpringBootApplication
class ShopApplication {
    final List<String> keys = new CopyOnWriteArrayList<>();

    @Bean
    SimpleMeterRegistry meterRegistry() {
        return new SimpleMeterRegistry();
    }

    @SeckillOrderListener
    void on(OrderPlaced placed, String idempotencyKey) {
        keys.add(idempotencyKey);
    }
}
