package shop;

import static java.nio.charset.StandardCharsets.US_ASCII;
import static java.nio.charset.StandardCharsets.UTF_8;

import io.lettuce.core.RedisClient;
import io.lettuce.core.XGroupCreateArgs.Builder;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Entries of the three streams, by Lettuce alone: Spring Boot 2 has no XAUTOCLAIM. */
final class Streams {
    /** An entry idle for so long is sent again. Longer than a broker is waited for. */
    private static final String TAKE_OVER_MS = "30000";
    private static final String[] NAMES =
            {"stream.orders", "stream.orders.confirmed", "stream.orders.released"};
    private static final String GROUP = "broker";

    private enum Command implements ProtocolKeyword {
        XAUTOCLAIM, XREADGROUP;
        @Override public byte[] getBytes() { return name().getBytes(US_ASCII); }
    }

    /** What is not UTF-8 is null. */
    private static final class Strict extends StringCodec {
        Strict() { super(UTF_8); }
        @Override public String decodeValue(ByteBuffer bytes) {
            String text = super.decodeValue(bytes.duplicate());
            boolean same = text.indexOf('\uFFFD') < 0 || UTF_8.encode(text).equals(bytes);
            return same ? text : null;
        }
    }
    private final String me = "bridge-" + UUID.randomUUID();
    private final Map<String, String> cursors = new HashMap<>();
    private final Map<String, Long> rest = new HashMap<>(); // until then; XAUTOCLAIM costs
    private final StringCodec strict = new Strict();
    private final RedisCommands<String, String> redis;
    private final RedisAsyncCommands<String, String> acks; // which wait for no reader
    Streams(String url) {
        RedisClient client = RedisClient.create(url);
        redis = client.connect(strict).sync();
        acks = client.connect().async();
    }

    /** What nobody has acknowledged for long, and new entries. Waits a second for them. */
    List<Entry> next() {
        List<Entry> entries = new ArrayList<>();
        for (String stream : NAMES) {
            if (System.currentTimeMillis() < rest.getOrDefault(stream, 0L)) continue;
            // Cursor, entries, ids of trimmed ones: Lettuce's own xautoclaim() drops these.
            List<Object> reply = redis.dispatch(Command.XAUTOCLAIM, new NestedMultiOutput<>(strict),
                    new CommandArgs<>(strict).addKey(stream).add(GROUP).add(me).add(TAKE_OVER_MS)
                            .add(cursors.getOrDefault(stream, "0-0")).add("COUNT").add(100));
            cursors.put(stream, (String) reply.get(0));
            if (reply.get(0).equals("0-0")) rest.put(stream, System.currentTimeMillis() + 1_000);
            add(entries, stream, reply.get(1));
            for (Object id : (List<?>) reply.get(2)) {
                System.err.println("LOST: trimmed from " + stream + " before it was sent: " + id);
            }
        }
        List<Object> reply = redis.dispatch(Command.XREADGROUP, new NestedMultiOutput<>(strict),
                new CommandArgs<>(strict).add("GROUP").add(GROUP).add(me).add("COUNT").add(500)
                        .add("BLOCK").add(1_000).add("STREAMS").addKeys(NAMES)
                        .add(">").add(">").add(">"));
        for (Iterator<?> all = reply.iterator(); all.hasNext(); ) {
            Object of = all.next(); // a name, which its entries follow; before RESP3 a list of both
            Iterator<?> both = of instanceof List ? ((List<?>) of).iterator() : null;
            if (both != null) add(entries, (String) both.next(), both.next());
            else if (of != null) add(entries, (String) of, all.next());
        }
        return entries;
    }

    /** Adds what JSON can hold. An entry with a name or a value that is not UTF-8 stays pending. */
    private static void add(List<Entry> entries, String stream, Object reply) {
        for (Object item : (List<?>) reply) {
            String id = (String) ((List<?>) item).get(0);
            List<?> words = (List<?>) ((List<?>) item).get(1);
            if (words.contains(null)) {
                System.err.println(id + " of " + stream + " stays pending: it is not UTF-8");
                continue;
            }
            Map<String, String> fields = new LinkedHashMap<>();
            for (Iterator<?> all = words.iterator(); all.hasNext(); ) {
                fields.put((String) all.next(), (String) all.next());
            }
            entries.add(new Entry(stream, id, fields));
        }
    }

    void acknowledge(List<Entry> confirmed) {
        for (String stream : NAMES) {
            String[] ids = confirmed.stream().filter(entry -> entry.stream.equals(stream))
                    .map(entry -> entry.id).toArray(String[]::new);
            if (ids.length > 0) {
                acks.xack(stream, GROUP, ids).whenComplete((count, error) -> {
                    if (error != null) System.err.println(error); // they are sent again
                });
            }
        }
    }

    void createGroups() {
        for (String stream : NAMES) {
            try {
                redis.xgroupCreate(StreamOffset.from(stream, "0"), GROUP, Builder.mkstream());
            } catch (RuntimeException exists) { } // or the server is down: the next read says so
        }
    }
}
