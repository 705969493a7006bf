package shop;

import static io.lettuce.core.codec.StringCodec.UTF8;
import static java.nio.charset.StandardCharsets.US_ASCII;

import io.lettuce.core.Consumer;
import io.lettuce.core.RedisClient;
import io.lettuce.core.StreamMessage;
import io.lettuce.core.XGroupCreateArgs.Builder;
import io.lettuce.core.XReadArgs;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
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
    @SuppressWarnings("unchecked") private static final StreamOffset<String>[] UNREAD =
            Arrays.stream(NAMES).map(StreamOffset::lastConsumed).toArray(StreamOffset[]::new);

    private enum Command implements ProtocolKeyword {
        XAUTOCLAIM;
        @Override public byte[] getBytes() { return name().getBytes(US_ASCII); }
    }
    private final String me = "bridge-" + UUID.randomUUID();
    private final Map<String, String> cursors = new HashMap<>();
    private final Map<String, Long> rest = new HashMap<>(); // until then; XAUTOCLAIM costs
    private final RedisCommands<String, String> redis;
    private final RedisAsyncCommands<String, String> acks; // which wait for no reader
    Streams(String url) {
        RedisClient client = RedisClient.create(url);
        redis = client.connect().sync();
        acks = client.connect().async();
    }

    /** What nobody has acknowledged for long, and new entries. Waits a second for them. */
    List<Entry> next() {
        List<Entry> entries = new ArrayList<>();
        for (String stream : NAMES) {
            if (System.currentTimeMillis() < rest.getOrDefault(stream, 0L)) continue;
            // Cursor, entries, ids of trimmed ones: Lettuce's own xautoclaim() drops these.
            List<Object> reply = redis.dispatch(Command.XAUTOCLAIM, new NestedMultiOutput<>(UTF8),
                    new CommandArgs<>(UTF8).addKey(stream).add(GROUP).add(me).add(TAKE_OVER_MS)
                            .add(cursors.getOrDefault(stream, "0-0")).add("COUNT").add(100));
            cursors.put(stream, (String) reply.get(0));
            if (reply.get(0).equals("0-0")) rest.put(stream, System.currentTimeMillis() + 1_000);
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
        for (StreamMessage<String, String> message : redis.xreadgroup(Consumer.from(GROUP, me),
                XReadArgs.Builder.block(Duration.ofSeconds(1)).count(500), UNREAD)) {
            entries.add(new Entry(message.getStream(), message.getId(), message.getBody()));
        }
        return entries;
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
