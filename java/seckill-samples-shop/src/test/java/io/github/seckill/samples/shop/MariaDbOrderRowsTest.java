package io.github.seckill.samples.shop;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.test.annotation.DirtiesContext;
import org.springframework.test.context.ActiveProfiles;
import org.springframework.test.context.DynamicPropertyRegistry;
import org.springframework.test.context.DynamicPropertySource;

/** The same with rows in MariaDB. */
@ActiveProfiles("mariadb")
@EnabledIf("io.github.seckill.samples.shop.MariaDb#isInstalled")
@DirtiesContext
class MariaDbOrderRowsTest extends OrderRowsTest {
    @AutoClose private static MariaDb server;

    @BeforeAll
    static void start(@TempDir Path folder) throws IOException, InterruptedException {
        server = new MariaDb(folder);
    }

    @DynamicPropertySource
    static void connect(DynamicPropertyRegistry properties) {
        server.connect(properties);
    }
}
