package io.github.seckill.samples.shop;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** The shop. It needs a server with the module: {@code spring.data.redis.url}. */
@SpringBootApplication
public class ShopApplication {
    /** Starts it. */
    public static void main(String[] arguments) {
        SpringApplication.run(ShopApplication.class, arguments);
    }
}
