package shop;

import io.github.seckill.test.SeckillServer;
import java.io.*;
import java.net.*;
import java.nio.charset.StandardCharsets;
import java.util.*;
import java.util.concurrent.CopyOnWriteArrayList;
import org.jspecify.annotations.Nullable;

/** Between clients and their server: what becomes of each command of the module, a test says. */
final class Proxy implements AutoCloseable {
    /** The server does not hear of it, and the connection is lost. */
    static final String DROP = "drop";
    /** The server has done it, and its answer is lost with the connection. */
    static final String LOSE = "lose";

    /** What a command is answered: a line of RESP, one of the words above, or by the server. */
    interface Rule {
        @Nullable String answer(List<String> command) throws Exception;
    }

    private final SeckillServer server;
    private final ServerSocket listening = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    private final List<Socket> open = new CopyOnWriteArrayList<>();
    final List<List<String>> seen = new CopyOnWriteArrayList<>();
    volatile Rule rule = command -> null;

    Proxy(SeckillServer server) throws IOException {
        this.server = server;
        Shop.on(() -> {
            while (true) {
                Socket client = listening.accept();
                open.add(client);
                Shop.on(() -> serve(client));
            }
        });
    }

    String uri() {
        return "redis://127.0.0.1:" + listening.getLocalPort();
    }

    /** How often a command has come, without who asks for it. */
    long count(String name) {
        return seen.stream().filter(command -> command.get(0).equals(name)).count();
    }

    /** The arguments behind the key of what has come at this place. */
    List<String> arguments(int index) {
        return seen.get(index).subList(2, seen.get(index).size());
    }

    private Object serve(Socket client) throws Exception {
        try (client;
                Socket behind = new Socket(server.host(), server.port())) {
            open.add(behind);
            var requests = new BufferedInputStream(client.getInputStream());
            var replies = new BufferedInputStream(behind.getInputStream());
            while (true) {
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                List<String> words = new ArrayList<>();
                copy(requests, bytes, words);
                boolean ours = words.get(0).matches("(SECKILL|LOCK)[.].*");
                if (ours) {
                    seen.add(words);
                }
                String answer = ours ? rule.answer(words) : null;
                if (answer == null || answer.equals(LOSE)) {
                    bytes.writeTo(behind.getOutputStream());
                    bytes.reset();
                    copy(replies, bytes, new ArrayList<>());
                } else {
                    bytes.reset();
                    bytes.write((answer + "\r\n").getBytes(StandardCharsets.UTF_8));
                }
                if (LOSE.equals(answer) || DROP.equals(answer)) {
                    return answer;
                }
                bytes.writeTo(client.getOutputStream());
            }
        }
    }

    /** Reads one request or reply, whichever version of RESP. */
    private static void copy(InputStream from, ByteArrayOutputStream to, List<String> words)
            throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = 0; next != '\n'; line.append((char) next)) {
            next = from.read();
            if (next < 0) {
                throw new EOFException();
            }
            to.write(next);
        }
        char type = line.charAt(0);
        String rest = line.substring(1).strip();
        if ("$=!".indexOf(type) >= 0 && !rest.equals("-1")) {
            byte[] text = from.readNBytes(Integer.parseInt(rest) + 2);
            to.write(text);
            words.add(new String(text, 0, text.length - 2, StandardCharsets.UTF_8));
        } else if ("*~>%".indexOf(type) >= 0) {
            int elements = Integer.parseInt(rest) * (type == '%' ? 2 : 1);
            for (int i = 0; i < elements; i++) {
                copy(from, to, words);
            }
        }
    }

    @Override
    public void close() throws IOException {
        listening.close();
        for (Socket socket : open) {
            socket.close();
        }
    }
}
