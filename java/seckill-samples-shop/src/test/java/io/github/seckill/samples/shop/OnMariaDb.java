package io.github.seckill.samples.shop;

import java.io.IOException;
import java.lang.annotation.*;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.boot.test.context.TestConfiguration;
import org.springframework.context.annotation.*;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.*;

/** A test whose shop writes its rows to a MariaDB of its own, where one is installed. */
@Target(ElementType.TYPE)
@Retention(RetentionPolicy.RUNTIME)
@ActiveProfiles("mariadb")
@EnabledIf("io.github.seckill.samples.shop.MariaDb#isInstalled")
@Import(OnMariaDb.Server.class)
@DirtiesContext // the server ends with it
@interface OnMariaDb {
    @TestConfiguration(proxyBeanMethods = false)
    class Server {
        @Bean
        MariaDb mariaDb() throws IOException, InterruptedException {
            return new MariaDb();
        }

        @Bean
        DynamicPropertyRegistrar placeOfRows(MariaDb server) {
            return properties -> {
                properties.add("spring.datasource.url", server::url);
                properties.add("spring.datasource.username", () -> "root");
            };
        }
    }
}
