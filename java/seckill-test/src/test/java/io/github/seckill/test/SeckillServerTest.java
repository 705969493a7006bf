package io.github.seckill.test;

import static org.junit.jupiter.api.Assertions.*;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** The first test of the build: without a module it says so, once. */
class SeckillServerTest {
    private static final String THERE = "still there";

    @Test
    void aSecondCloseDoesNothing() {
        SeckillServer server = SeckillServer.start();
        server.close();
        server.close();
        assertFalse(server.isAlive());
        assertFalse(Files.exists(server.folder()));
    }

    /** Where several suites run at once, another one's server may get the port that was free. */
    @Test
    void anotherServerOnItsPortIsNotTakenForIt() throws Exception {
        SeckillServer server = SeckillServer.start();
        server.kill();
        String port = String.valueOf(server.port());
        Process other = new ProcessBuilder(
                SeckillServer.program(), "--port", port, "--save", "", "--bind", server.host())
                .redirectErrorStream(true).start();
        try (var log = other.inputReader()) {
            assertTrue(log.lines().anyMatch(line -> line.contains("Ready to accept")));
            String failed = assertThrows(IllegalStateException.class, server::restart).getMessage();
            assertTrue(failed.contains("Address already in use"), failed);
        } finally {
            other.destroyForcibly().waitFor();
        }
    }

    @Test
    void whenTheVirtualMachineExitsItsOwnerStillHasIt() throws Exception {
        Process exits = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp", System.getProperty("java.class.path"), Owner.class.getName())
                .redirectErrorStream(true).start();
        String said =
                new String(exits.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(THERE, said.strip());
    }

    /** Closes its server at the exit only, when it has not gone for a while. */
    static final class Owner {
        public static void main(String[] arguments) {
            SeckillServer server = SeckillServer.start().leaveToOwner();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                CompletableFuture<String> gone =
                        ProcessHandle.of(server.pid()).orElseThrow().onExit().thenApply(end -> "gone");
                System.out.println(
                        gone.completeOnTimeout(THERE, 500, TimeUnit.MILLISECONDS).join());
                server.close();
            }));
        }
    }
}
