#!/usr/bin/env bash
# Lettuce: a connection is lost when the server has carried out a command, and before its reply is here.
# Guess: the command fails, as with other clients, and the caller decides what to do.
# Seen with Lettuce 7.7.0 on Redis 7.0.15, all options as they come: it connects again and writes the command again, which is
# done twice, and the caller is told of the second time only: one INCR makes 2. Without auto-reconnect the command fails.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program io.lettuce:lettuce-core:7.7.0.RELEASE <<'JAVA'
import io.lettuce.core.ClientOptions;
import io.lettuce.core.RedisClient;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;

public class Probe {
    static boolean cut;

    /** Passes everything on, but for the first reply to an INCR: there it closes the connection. */
    static void pass(Socket client, int port) {
        try (client; Socket server = new Socket(InetAddress.getLoopbackAddress(), port)) {
            byte[] bytes = new byte[65_536];
            InputStream[] from = {client.getInputStream(), server.getInputStream()};
            OutputStream[] to = {server.getOutputStream(), client.getOutputStream()};
            while (true) {
                int read = from[0].read(bytes);
                boolean first = !cut && new String(bytes, 0, Math.max(read, 0)).contains("INCR");
                if (read < 0) return;
                to[0].write(bytes, 0, read);
                read = from[1].read(bytes);
                if (first) {
                    cut = true;
                    return;
                }
                to[1].write(bytes, 0, read);
            }
        } catch (Exception closed) {
            // The next connection goes on.
        }
    }

    public static void main(String[] args) throws Exception {
        ServerSocket listener = new ServerSocket(0, 9, InetAddress.getLoopbackAddress());
        Thread proxy = new Thread(() -> {
            while (true) {
                try {
                    Socket accepted = listener.accept();
                    new Thread(() -> pass(accepted, Integer.parseInt(args[0]))).start();
                } catch (Exception failed) {
                    return;
                }
            }
        });
        proxy.setDaemon(true);
        proxy.start();
        RedisClient client = RedisClient.create("redis://127.0.0.1:" + listener.getLocalPort());
        client.setOptions(ClientOptions.builder().autoReconnect(args[1].equals("default")).build());
        var commands = client.connect().sync();
        try {
            System.out.println("told " + commands.incr(args[1]));
        } catch (RuntimeException failed) {
            System.out.println("failed");
        }
        System.exit(0);
    }
}
JAVA
seen "one INCR, options as they come" "told 2" "$(probe "$port" default)"
seen "the counter" 2 "$(say GET default)"
seen "one INCR, without auto-reconnect" failed "$(probe "$port" without)"
seen "the counter" 1 "$(say GET without)"
verdict
