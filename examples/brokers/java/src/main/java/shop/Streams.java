package shop;

import static java.nio.charset.StandardCharsets.US_ASCII;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.Consumer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XGroupCreateArgs.Builder;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.time.Duration;
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
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final StringCodec UTF8 = StringCodec.UTF8;

    private enum Command implements ProtocolKeyword {
        XAUTOCLAIM;
        @Override public byte[] getBytes() { return name().getBytes(US_ASCII); }
    }
    static final class Entry {
        final String stream, id, order, json;
        Entry(String stream, String id, Map<String, String> fields) throws Exception {
            this.stream = stream;
            this.id = id;
            order = fields.get("id");
            json = JSON.writeValueAsString(fields);
        }
    }
    private final String me = "bridge-" + UUID.randomUUID();
    private final Map<String, String> cursors = new HashMap<>();
    private final RedisCommands<String, String> redis;
    Streams(String url) { redis = RedisClient.create(url).connect().sync(); }

    /** What nobody has acknowledged for long, and new entries. Waits a second for them. */
    List<Entry> next() throws Exception {
        List<Entry> entries = new ArrayList<>();
        List<StreamOffset<String>> unread = new ArrayList<>();
        for (String stream : NAMES) {
            unread.add(StreamOffset.lastConsumed(stream));
            // Cursor, entries, ids of trimmed ones: Lettuce's own xautoclaim() drops these.
            List<Object> reply = redis.dispatch(Command.XAUTOCLAIM, new NestedMultiOutput<>(UTF8),
                    new CommandArgs<>(UTF8).addKey(stream).add(GROUP).add(me).add(TAKE_OVER_MS)
                            .add(cursors.getOrDefault(stream, "0-0")).add("COUNT").add(100));
            cursors.put(stream, (String) reply.get(0));
            for (Object item : (List<?>) reply.get(1)) {
                List<?> entry = (List<?>) item;
                Map<String, String> fields = new LinkedHashMap<>();
                for (Iterator<?> all = ((List<?>) entry.get(1)).iterator(); all.hasNext(); ) {
                    fields.put((String) all.next(), (String) all.next());
                }
                entries.add(new Entry(stream, (String) entry.get(0), fields));
            }
            for (Object id : (List<?>) reply.get(2)) System.err.println("LOST " + id);
        }
        @SuppressWarnings("unchecked")
        StreamOffset<String>[] offsets = unread.toArray(new StreamOffset[0]);
        for (StreamMessage<String, String> message : redis.xreadgroup(Consumer.from(GROUP, me),
                XReadArgs.Builder.block(Duration.ofSeconds(1)).count(500), offsets)) {
            entries.add(new Entry(message.getStream(), message.getId(), message.getBody()));
        }
        return entries;
    }

    void acknowledge(List<Entry> confirmed) {
        for (String stream : NAMES) {
            String[] ids = confirmed.stream().filter(entry -> entry.stream.equals(stream))
                    .map(entry -> entry.id).toArray(String[]::new);
            if (ids.length > 0) redis.xack(stream, GROUP, ids);
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
