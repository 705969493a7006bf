package shop.documented.first;

import io.github.seckill.client.*;
import io.github.seckill.spring.OrderEvent.*;
import io.github.seckill.spring.SeckillOrderListener;
import java.time.Duration;
import java.util.stream.IntStream;
import org.springframework.boot.*;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;

@SpringBootApplication
public class FirstSale {
    public static void main(String[] args) {
        SpringApplication.run(FirstSale.class, args);
    }

    @Bean
    CommandLineRunner sell(SeckillClient seckill) {
        return args -> {
            seckill.create("phone", 100, SaleRules.none().hold(Duration.ofMinutes(15)));
            IntStream.range(0, 1_000).parallel()
                    .forEach(i -> seckill.tryBuy("phone", "user" + i, "order" + i));
            System.out.println(seckill.audit("phone"));
        };
    }

    @SeckillOrderListener(group = "rows")
    void row(OrderPlaced placed, String idempotencyKey) {
        System.out.println("insert, unless " + idempotencyKey + " is there: " + placed.order());
    }
}
