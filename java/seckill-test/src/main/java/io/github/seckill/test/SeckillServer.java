package io.github.seckill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A server with the module, without data, on a free port of this machine, in a temporary folder
 * that goes with it. It ends with {@link #close()}, at the latest with the virtual machine.
 *
 * <p>The program is {@code redis-server} of the path, or what the system property {@code
 * seckill.redis-server} or the environment's {@code REDIS_SERVER} says. The module is what {@code
 * seckill.module} or {@code SECKILL_MODULE} says, or what {@code make build} has built in a folder
 * above.
 */
public final class SeckillServer implements AutoCloseable {
    private static final int STARTS_MAX = 5;
    private static final long START_NANOS = TimeUnit.SECONDS.toNanos(30);

    private final Path folder;
    private final int port;
    private final List<String> line;
    private volatile Process process;
    private final Thread atExit;

    private SeckillServer(Path folder, int port, List<String> line) throws IOException {
        this.folder = folder;
        this.port = port;
        this.line = line;
        this.process = launch();
        this.atExit = new Thread(() -> process.destroyForcibly(), "seckill-server-at-exit");
        Runtime.getRuntime().addShutdownHook(atExit);
    }

    /** The program that is started by default. */
    public static String program() {
        return setting("seckill.redis-server", "REDIS_SERVER").orElse("redis-server");
    }

    private static Optional<String> built() {
        return Stream.iterate(Path.of("").toAbsolutePath(), Objects::nonNull, Path::getParent)
                .map(folder -> folder.resolve("target/release/libseckill.so")).filter(Files::exists)
                .map(Path::toString).findFirst();
    }

    private static Optional<String> setting(String property, String variable) {
        return Optional.ofNullable(System.getProperty(property))
                .or(() -> Optional.ofNullable(System.getenv(variable)))
                .filter(value -> !value.isBlank());
    }

    /**
     * Starts a server with the module and waits until it answers.
     *
     * @throws IllegalStateException if no module is set, or the server does not start
     */
    public static SeckillServer start(String... options) {
        List<String> all = new ArrayList<>(List.of("--loadmodule", requiredModule()));
        all.addAll(List.of(options));
        return start(program(), all);
    }

    /** The path of the module that is loaded by default, which must be there. */
    public static String requiredModule() {
        return setting("seckill.module", "SECKILL_MODULE").or(SeckillServer::built)
                .orElseThrow(() -> new IllegalStateException(
                        "No module: `make build`, or set SECKILL_MODULE (or the property"
                                + " seckill.module) to libseckill.so"));
    }

    /**
     * Starts a server and waits until it answers. The module is loaded only if an option says so.
     *
     * @throws IllegalStateException if it does not start
     */
    public static SeckillServer start(String program, List<String> options) {
        for (int starts = 1; ; starts++) {
            try {
                return tryToStart(program, options);
            } catch (IllegalStateException failed) {
                // Somebody else may have taken the port that was free.
                if (starts == STARTS_MAX || !failed.getMessage().contains("Address already")) {
                    throw failed;
                }
            }
        }
    }

    private static SeckillServer tryToStart(String program, List<String> options) {
        try {
            Path folder = Files.createTempDirectory("seckill-server");
            int port = freePort();
            List<String> line = new ArrayList<>();
            line.addAll(List.of(program, "--port", String.valueOf(port), "--bind", "127.0.0.1"));
            line.addAll(List.of("--save", "", "--dir", folder.toString()));
            line.addAll(options);
            SeckillServer server = new SeckillServer(folder, port, line);
            server.awaitAnswer();
            return server;
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    private Process launch() throws IOException {
        return new ProcessBuilder(line)
                .redirectErrorStream(true).redirectOutput(folder.resolve("log").toFile()).start();
    }

    /** Starts a server that was killed again, on its port, and waits until it answers. */
    public void restart() {
        try {
            process = launch();
            awaitAnswer();
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /** A port that was free a moment ago, and whose cluster port is in range. */
    public static int freePort() throws IOException {
        while (true) {
            try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                if (socket.getLocalPort() < 55_000) {
                    return socket.getLocalPort();
                }
            }
        }
    }

    private void awaitAnswer() {
        long started = System.nanoTime();
        while (!answers()) {
            if (!process.isAlive() || System.nanoTime() - started > START_NANOS) {
                String log = log();
                close();
                throw new IllegalStateException("The server did not start:\n" + log);
            }
            pause();
        }
    }

    /** Whether it is this server that answers: another one may have got the port first. */
    private boolean answers() {
        try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
            socket.setSoTimeout(1_000);
            String questions = "PING\r\nINFO server\r\nQUIT\r\n";
            socket.getOutputStream().write(questions.getBytes(StandardCharsets.US_ASCII));
            byte[] answers = socket.getInputStream().readAllBytes();
            String said = new String(answers, StandardCharsets.US_ASCII);
            return said.startsWith("+PONG") && said.contains("\nprocess_id:" + pid() + "\r");
        } catch (IOException notYet) {
            return false;
        }
    }

    private static void pause() {
        try {
            Thread.sleep(10);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted while a server starts", interrupted);
        }
    }

    public int port() {
        return port;
    }

    public String host() {
        return "127.0.0.1";
    }

    /** Where clients connect to. */
    public String uri() {
        return "redis://127.0.0.1:" + port;
    }

    public long pid() {
        return process.pid();
    }

    /** Its folder, in which it keeps its files. */
    public Path folder() {
        return folder;
    }

    public String log() {
        try {
            return Files.readString(folder.resolve("log"));
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }

    /**
     * When the virtual machine exits it is left to its owner to close it: an application context
     * stops then, too, and its listeners and locks still need their server.
     */
    SeckillServer leaveToOwner() {
        Runtime.getRuntime().removeShutdownHook(atExit);
        return this;
    }

    /** Kills it at once, as SIGKILL does, and waits until it is gone. Its folder stays. */
    public void kill() {
        process.destroyForcibly().onExit().join();
    }

    /** Freezes it, as SIGSTOP does: its connections stay open, and nothing is answered. */
    public void freeze() {
        signal("STOP");
    }

    /** Lets a frozen server go on. */
    public void thaw() {
        signal("CONT");
    }

    private void signal(String name) {
        try {
            Process kill = new ProcessBuilder("kill", "-" + name, String.valueOf(pid())).start();
            if (kill.waitFor() != 0) {
                throw new IllegalStateException("kill -" + name + " " + pid() + " failed");
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    public boolean isAlive() {
        return process.isAlive();
    }

    /** Ends it and removes its folder. A second call does nothing. */
    @Override
    public void close() {
        kill();
        if (!Files.exists(folder)) {
            return;
        }
        try {
            Runtime.getRuntime().removeShutdownHook(atExit);
        } catch (IllegalStateException exiting) {
            // The hook runs already.
        }
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.deleteIfExists(file);
            }
        } catch (IOException failed) {
            throw new UncheckedIOException(failed);
        }
    }
}
