package io.github.seckill.test;

import static org.junit.jupiter.api.Assertions.assertFalse;

import java.nio.file.Files;
import org.junit.jupiter.api.Test;

/** The first test of the build: without a module it says so, once. */
class SeckillServerTest {
    @Test
    void aSecondCloseDoesNothing() {
        SeckillServer server = SeckillServer.start();
        server.close();
        server.close();
        assertFalse(server.isAlive());
        assertFalse(Files.exists(server.folder()));
    }
}
