package io.github.seckill.samples.shop;

import io.github.seckill.test.SeckillServer;
import java.io.IOException;
import java.net.*;
import java.nio.file.*;
import java.time.Duration;
import java.util.*;
import org.awaitility.Awaitility;
import org.springframework.util.FileSystemUtils;

/** A MariaDB of its own, without data, where the programs of MariaDB are installed. */
final class MariaDb implements AutoCloseable {
    private static final Path PROGRAM = Path.of("/usr/sbin/mariadbd");
    private static final String USER = System.getProperty("user.name");

    private final Path folder;
    private final int port;
    private final Process process;

    MariaDb() throws IOException, InterruptedException {
        folder = Files.createTempDirectory("mariadb");
        port = SeckillServer.freePort();
        String data = "--datadir=" + folder.resolve("data");
        Process install =
                start("mariadb-install-db", data, "--auth-root-authentication-method=normal");
        if (install.waitFor() != 0) {
            throw new IllegalStateException("mariadb-install-db failed:\n" + log());
        }
        // It survives nothing here, so no commit has to wait for the disk.
        process = start(
                PROGRAM.toString(), data, "--port=" + port, "--bind-address=127.0.0.1",
                "--innodb-flush-log-at-trx-commit=2",
                "--socket=" + folder.resolve("socket"), "--pid-file=" + folder.resolve("pid"));
        Awaitility.await().atMost(Duration.ofSeconds(60)).until(this::accepts);
    }

    static boolean isInstalled() {
        return Files.isExecutable(PROGRAM);
    }

    private Process start(String program, String... options) throws IOException {
        List<String> line = new ArrayList<>(List.of(options));
        line.addAll(0, List.of(program, "--no-defaults", "--user=" + USER));
        var log = ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile());
        return new ProcessBuilder(line).redirectErrorStream(true).redirectOutput(log).start();
    }

    private boolean accepts() throws IOException {
        if (!process.isAlive()) {
            throw new IllegalStateException("mariadbd has ended:\n" + log());
        }
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            return socket.isConnected();
        } catch (IOException notYet) {
            return false;
        }
    }

    private String log() throws IOException {
        return Files.readString(folder.resolve("log"));
    }

    String url() {
        return "jdbc:mariadb://127.0.0.1:" + port + "/shop?createDatabaseIfNotExist=true";
    }

    @Override
    public void close() throws IOException {
        process.destroyForcibly().onExit().join();
        FileSystemUtils.deleteRecursively(folder);
    }
}
