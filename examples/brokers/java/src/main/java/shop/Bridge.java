package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.ByteBuffer;
import java.util.*;

/**
 * Sends the entries of the three streams to a broker, and acknowledges what it has confirmed; all
 * else stays pending, and is sent again. By Lettuce alone, as Spring Boot 2 has no XAUTOCLAIM.
 */
abstract class Bridge {
    /** Bridges have one name: they take over by time, which is longer than a broker's. */
    static final String GROUP = "broker", NAME = "bridge", TAKE_OVER_MS = "30000";
    /** Of each stream. A worker sends one batch, and waits until it is confirmed. */
    static final int WORKERS = 3, MOST = 500;
    static final RedisClient REDIS = RedisClient.create(System.getenv("REDIS_URL"));
    static final ObjectMapper JSON = new ObjectMapper();

    private enum Command implements ProtocolKeyword {
        XAUTOCLAIM;
        @Override public byte[] getBytes() { return name().getBytes(UTF_8); }
    }

    /** What JSON can't hold becomes what no UTF-8 is. */
    private static final String NO_TEXT = "\uD800";
    private static final StringCodec STRICT = new StringCodec(UTF_8) {
        @Override public String decodeKey(ByteBuffer bytes) {
            String text = super.decodeKey(bytes.duplicate());
            boolean same = text.indexOf('\uFFFD') < 0 || UTF_8.encode(text).equals(bytes);
            return same ? text : NO_TEXT;
        }
        @Override public String decodeValue(ByteBuffer bytes) { return decodeKey(bytes); }
    };

    /** Fails while the broker is away. */
    abstract void connect() throws Exception;

    /** Returns the ids of the entries that the broker has confirmed. */
    abstract List<String> send(String to, List<StreamMessage<String, String>> entries)
            throws Exception;

    void start() {
        for (int worker = 0; worker < WORKERS; worker++) {
            for (String stream : new String[] {
                    "stream.orders", "stream.orders.confirmed", "stream.orders.released"}) {
                new Thread(() -> work(stream)).start();
            }
        }
    }

    /** Whatever fails, all is opened anew. */
    void work(String stream) {
        while (true) {
            try (StatefulRedisConnection<String, String> redis = REDIS.connect(STRICT)) {
                connect();
                work(stream, redis.sync());
            } catch (Exception error) {
                System.err.println(error);
            }
            try {
                Thread.sleep(1_000);
            } catch (InterruptedException stopped) {
                return;
            }
        }
    }

    private void work(String stream, RedisCommands<String, String> redis) throws Exception {
        try {
            redis.xgroupCreate(StreamOffset.from(stream, "0"), GROUP,
                    XGroupCreateArgs.Builder.mkstream());
        } catch (RedisBusyException exists) { }
        String from = "0-0";
        for (long rest = System.nanoTime(); ; ) {
            List<StreamMessage<String, String>> entries = new ArrayList<>();
            if (System.nanoTime() - rest > 0) { // at what nobody has acknowledged for long
                // Cursor, entries, ids of trimmed ones: Lettuce's own xautoclaim() drops these.
                List<?> reply = redis.dispatch(Command.XAUTOCLAIM, new NestedMultiOutput<>(STRICT),
                        new CommandArgs<>(STRICT).addKey(stream).add(GROUP).add(NAME)
                                .add(TAKE_OVER_MS).add(from).add("COUNT").add(100));
                from = (String) reply.get(0);
                if (from.equals("0-0")) rest = System.nanoTime() + 1_000_000_000;
                for (Object idle : (List<?>) reply.get(1)) {
                    entries.add(entry(stream, (List<?>) idle));
                }
                for (Object id : (List<?>) reply.get(2)) {
                    System.err.println("LOST: trimmed from " + stream + " unsent: " + id);
                }
            } else {
                entries = redis.xreadgroup(
                        Consumer.from(GROUP, NAME), XReadArgs.Builder.block(1_000).count(MOST),
                        StreamOffset.lastConsumed(stream));
            }
            entries.removeIf(Bridge::isNoText);
            List<String> confirmed = send(stream, entries);
            if (!confirmed.isEmpty()) redis.xack(stream, GROUP, confirmed.toArray(new String[0]));
            if (confirmed.size() < entries.size()) throw new Exception("not all is confirmed");
        }
    }

    private static StreamMessage<String, String> entry(String stream, List<?> idAndFields) {
        Map<String, String> body = new LinkedHashMap<>();
        for (Iterator<?> all = ((List<?>) idAndFields.get(1)).iterator(); all.hasNext(); ) {
            body.put((String) all.next(), (String) all.next());
        }
        return new StreamMessage<>(stream, (String) idAndFields.get(0), body);
    }

    private static boolean isNoText(StreamMessage<String, String> entry) {
        Map<String, String> body = entry.getBody();
        boolean is = body.containsKey(NO_TEXT) || body.containsValue(NO_TEXT);
        if (is) {
            System.err.println(entry.getId() + " of " + entry.getStream()
                    + " stays pending: it is not UTF-8");
        }
        return is;
    }
}
