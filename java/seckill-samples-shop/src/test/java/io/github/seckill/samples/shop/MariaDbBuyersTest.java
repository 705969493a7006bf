package io.github.seckill.samples.shop;

import java.io.IOException;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.condition.EnabledIf;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The same with rows in MariaDB. */
@ActiveProfiles("mariadb")
@EnabledIf("isInstalled")
@DirtiesContext
class MariaDbBuyersTest extends BuyersTest {
    private static MariaDbServer server;

    static boolean isInstalled() {
        return MariaDbServer.isInstalled();
    }

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        server = new MariaDbServer();
    }

    @AfterAll
    static void end() throws IOException {
        server.close();
    }

    @DynamicPropertySource
    static void connect(DynamicPropertyRegistry properties) {
        properties.add("spring.datasource.url", () -> server.url());
        properties.add("spring.datasource.username", () -> "root");
    }
}
