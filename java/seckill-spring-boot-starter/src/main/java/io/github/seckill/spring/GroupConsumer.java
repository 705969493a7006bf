package io.github.seckill.spring;

import io.github.seckill.client.DeadLetter;
import io.github.seckill.spring.OrderEvent.StreamEntry;
import io.lettuce.core.RedisClient;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.*;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.jspecify.annotations.Nullable;
import org.springframework.core.NestedExceptionUtils;
import org.springframework.data.domain.Range;
import org.springframework.data.redis.connection.*;
import org.springframework.data.redis.connection.RedisStreamCommands.XClaimOptions;
import org.springframework.data.redis.connection.lettuce.*;
import org.springframework.data.redis.connection.stream.*;

/** One consumer of a group, on a connection of its own: what it asks the server. */
record GroupConsumer(RedisConnection connection, String group, String name) {
    /** What is pending for a consumer that leaves goes to this one. */
    static final String RETURNED = "returned";

    /** A hundred at a time, so that no server is kept for long. */
    private static final String DELETE_IDLE = """
            local deleted = 0
            for _, info in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
              local consumer = {}
              for i = 1, #info, 2 do consumer[info[i]] = info[i + 1] end
              if consumer.pending == 0 and consumer.idle > tonumber(ARGV[2])
                  and consumer.name ~= ARGV[3] and deleted < 100 then
                redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
                deleted = deleted + 1
              end
            end
            return deleted
            """;

    /**
     * Opens a connection that is of no pool. Where a pool has fewer than there are consumers, the
     * others would wait for ever, and so would the application.
     */
    static RedisConnection connect(LettuceConnectionFactory factory) {
        return factory.getRequiredNativeClient() instanceof RedisClient client
                ? new LettuceConnection(factory.getTimeout(), client)
                : new LettuceClusterConnection(
                        (RedisClusterClient) factory.getRequiredNativeClient());
    }

    /** Makes the group where it is missing, to read the stream from its beginning. */
    void createGroup(String stream) {
        try {
            RedisStreamCommands streams = connection.streamCommands();
            streams.xGroupCreate(bytes(stream), group, ReadOffset.from("0"), true);
        } catch (RuntimeException failed) {
            String said = NestedExceptionUtils.getMostSpecificCause(failed).getMessage();
            if (said == null || !said.startsWith("BUSYGROUP ")) {
                throw failed;
            }
        }
    }

    /** Entries of each stream that no consumer of the group has read yet. */
    Map<String, List<ByteRecord>> readNew(List<String> streams, int count, Duration poll) {
        @SuppressWarnings("unchecked") // a generic array
        StreamOffset<byte[]>[] offsets = streams.stream()
                .map(stream -> StreamOffset.create(bytes(stream), ReadOffset.lastConsumed()))
                .toArray(StreamOffset[]::new);
        StreamReadOptions options = StreamReadOptions.empty().count(count).block(poll);
        List<ByteRecord> records = connection
                .streamCommands().xReadGroup(Consumer.from(group, name), options, offsets);
        return records == null ? Map.of() : records.stream().collect(Collectors.groupingBy(
                read -> text(read.getRequiredStream())));
    }

    /** Who has an entry that is pending, nobody if it was returned; idle below 0 by XNACK. */
    record Pending(RecordId id, String consumer, Duration idle, long deliveries) {
        private Pending(List<?> of) {
            this(
                    RecordId.of(text(of.get(0))), text(of.get(1)),
                    Duration.ofMillis((Long) of.get(2)), (Long) of.get(3));
        }

        /** By XNACK it is pending for a consumer without a name. */
        boolean isReturned() {
            return consumer.equals(RETURNED) || consumer.isEmpty();
        }
    }

    /** Pending entries from this id on, of one consumer if it is named. Spring needs a name. */
    List<Pending> pending(String stream, String from, int count, String... consumer) {
        byte[][] arguments = Stream.concat(
                        Stream.of(stream, group, from, "+", String.valueOf(count)),
                        Stream.of(consumer))
                .map(GroupConsumer::bytes).toArray(byte[][]::new);
        var answer = new NestedMultiOutput<byte[], byte[]>(ByteArrayCodec.INSTANCE);
        Object found = ((LettuceConnection) connection).execute("XPENDING", answer, arguments);
        return ((List<?>) found).stream().map(entry -> new Pending((List<?>) entry)).toList();
    }

    /** Claims an entry; null if another consumer has got it since, or it was deleted. */
    @Nullable ByteRecord claim(String stream, RecordId id, Duration idle) {
        List<ByteRecord> claimed =
                connection.streamCommands().xClaim(bytes(stream), group, name, idle, id);
        return claimed == null || claimed.isEmpty() ? null : claimed.get(0);
    }

    /** Whether the stream has an entry of this id. */
    boolean has(String stream, RecordId id) {
        Range<String> itself = Range.closed(id.getValue(), id.getValue());
        List<ByteRecord> found = connection.streamCommands().xRange(bytes(stream), itself);
        return found != null && !found.isEmpty();
    }

    void acknowledge(String stream, List<RecordId> ids) {
        connection.streamCommands().xAck(bytes(stream), group, ids.toArray(RecordId[]::new));
    }

    /**
     * Makes an entry a dead letter and releases nothing; false if it is not pending. The letter is
     * written first: a crash in between repeats it, and loses nothing.
     */
    boolean bury(StreamEntry entry, ByteRecord record, String reason) {
        byte[] stream = bytes(entry.stream());
        RedisStreamCommands streams = connection.streamCommands();
        List<Pending> pending = pending(entry.stream(), entry.id(), 1);
        if (pending.isEmpty() || !pending.get(0).id().getValue().equals(entry.id())) {
            return false;
        }
        Map<byte[], byte[]> letter = new LinkedHashMap<>(record.getValue());
        DeadLetter.behind(entry.stream(), group, entry.id(), entry.deliveries(), reason)
                .forEach((name, value) -> letter.put(bytes(name), bytes(value)));
        streams.xAdd(bytes(entry.stream() + ".dlq"), letter);
        Long acknowledged = streams.xAck(stream, group, RecordId.of(entry.id()));
        return acknowledged != null && acknowledged == 1;
    }

    /**
     * Rejects an order of which nothing is sold; false if there is none such. Looking and rejecting
     * are one step, so that no payment comes in between.
     */
    boolean rejectUnsold(StreamEntry entry, String reason) {
        byte[][] arguments = {
            bytes(entry.stream()), bytes(group), bytes(entry.id()), bytes("UNSOLD"),
            bytes("REASON"), bytes(reason)
        };
        var answer = new IntegerOutput<byte[], byte[]>(ByteArrayCodec.INSTANCE);
        // Spring can't decode the reply to a command that it doesn't know, unless it is told how.
        Object done = ((LettuceConnection) connection).execute("SECKILL.REJECT", answer, arguments);
        return Long.valueOf(1).equals(done);
    }

    /**
     * Returns what is pending for this consumer to the group, and deletes the consumer. One that is
     * deleted takes its pending entries with it, so they go to another one first, as if they had
     * been idle for long enough: others take them over at once.
     */
    void leave(String stream, Duration claimAfter) {
        RedisStreamCommands streams = connection.streamCommands();
        for (int round = 0; round < 1_000; round++) {
            List<Pending> pending = pending(stream, "-", 100, name);
            if (pending.isEmpty()) {
                // Nothing is delivered to it any more: this is the connection that has read.
                streams.xGroupDelConsumer(bytes(stream), Consumer.from(group, name));
                return;
            }
            handBack(stream, pending.stream().map(Pending::id).toList(), claimAfter);
        }
    }

    /** Returns entries to the group that it has not begun to handle: others take them at once. */
    void handBack(String stream, List<RecordId> ids, Duration claimAfter) {
        connection.streamCommands().xClaimJustId(
                bytes(stream), group, RETURNED,
                XClaimOptions.minIdle(Duration.ZERO).ids(ids).idle(claimAfter));
    }

    /**
     * Deletes consumers that have been idle for so long and have nothing pending. Looking and
     * deleting are one step: a consumer that is deleted takes its pending entries with it.
     */
    void deleteIdle(String stream, Duration idle) {
        connection.scriptingCommands().eval(
                bytes(DELETE_IDLE), ReturnType.INTEGER, 1, bytes(stream), bytes(group),
                bytes(String.valueOf(idle.toMillis())), bytes(RETURNED));
    }

    private static String text(Object bytes) {
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
