package io.github.seckill.spring.listener;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.data.domain.Range;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.ReturnType;
import org.springframework.data.redis.connection.stream.ByteRecord;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.PendingMessage;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.RecordId;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;

/** One consumer of a group, on a connection of its own: what it asks the server. */
record GroupConsumer(RedisConnection connection, String group, String name) {
    /** The write that can be refused comes first: a script that fails is not undone. */
    private static final String BURY =
            """
            if #redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[2], ARGV[2], 1) == 0 then return 0 end
            redis.call('XADD', KEYS[2], '*', unpack(ARGV, 3))
            redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
            return 1""";

    /** Looking and rejecting are one step, so that no payment comes in between. */
    private static final String REJECT_UNSOLD =
            """
            local order = redis.call('SECKILL.ORDER', KEYS[2], ARGV[3])
            if not order then return 0 end
            local known = {}
            for i = 1, #order, 2 do known[order[i]] = order[i + 1] end
            if known['user'] ~= ARGV[4] or known['state'] == 'sold' then return 0 end
            local sale = known['sale'] and string.format('%.0f', known['sale']) or ''
            if sale ~= ARGV[6] then return 0 end
            return redis.call('SECKILL.REJECT', KEYS[1], ARGV[1], ARGV[2], 'REASON', ARGV[5])""";

    /**
     * A consumer that is deleted takes its pending entries with it. So they go to another one
     * first, as if they had been idle for long enough: others take them over at once.
     */
    private static final String LEAVE =
            """
            for _ = 1, 1000 do
                local mine = redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', 100, ARGV[2])
                if #mine == 0 then
                    return redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], ARGV[2])
                end
                for _, entry in ipairs(mine) do
                    redis.call('XCLAIM', KEYS[1], ARGV[1], 'returned', 0, entry[1],
                        'IDLE', ARGV[3], 'JUSTID')
                end
            end
            return 1""";

    /** Makes the group where it is missing, to read the stream from its beginning. */
    void createGroup(String stream) {
        try {
            connection
                    .streamCommands()
                    .xGroupCreate(bytes(stream), group, ReadOffset.from("0"), true);
        } catch (RuntimeException failed) {
            if (!hasCode(failed, "BUSYGROUP")) {
                throw failed;
            }
        }
    }

    /** Entries of each stream that no consumer of the group has read yet. */
    Map<String, List<ByteRecord>> readNew(List<String> streams, int count, Duration poll) {
        List<StreamOffset<byte[]>> offsets = new ArrayList<>();
        for (String stream : streams) {
            offsets.add(StreamOffset.create(bytes(stream), ReadOffset.lastConsumed()));
        }
        StreamReadOptions options = StreamReadOptions.empty().count(count).block(poll);
        List<ByteRecord> records = connection
                .streamCommands().xReadGroup(Consumer.from(group, name), options, array(offsets));
        Map<String, List<ByteRecord>> found = new LinkedHashMap<>();
        if (records != null) {
            for (ByteRecord read : records) {
                String stream = new String(read.getRequiredStream(), StandardCharsets.UTF_8);
                found.computeIfAbsent(stream, absent -> new ArrayList<>()).add(read);
            }
        }
        return found;
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    private static StreamOffset<byte[]>[] array(List<StreamOffset<byte[]>> offsets) {
        return offsets.toArray(new StreamOffset[0]);
    }

    /** Pending entries of all consumers, behind an id. */
    List<PendingMessage> pending(String stream, String behind, int count) {
        Range<String> range = Range.rightUnbounded(Range.Bound.exclusive(behind));
        var pending =
                connection.streamCommands().xPending(bytes(stream), group, range, (long) count);
        return pending == null ? List.of() : pending.toList();
    }

    /** Claims an entry; null if another consumer has got it since, or it was deleted. */
    @Nullable ByteRecord claim(String stream, RecordId id, Duration idle) {
        List<ByteRecord> claimed =
                connection.streamCommands().xClaim(bytes(stream), group, name, idle, id);
        return claimed == null || claimed.isEmpty() ? null : claimed.get(0);
    }

    void acknowledge(String stream, List<RecordId> ids) {
        connection.streamCommands().xAck(bytes(stream), group, ids.toArray(RecordId[]::new));
    }

    /** Makes an entry a dead letter and releases nothing; false if it is not pending. */
    boolean bury(StreamEntry entry, ByteRecord record, String reason) {
        List<byte[]> arguments = new ArrayList<>();
        arguments.add(bytes(entry.stream()));
        arguments.add(bytes(entry.stream() + ".dlq"));
        arguments.add(bytes(group));
        arguments.add(bytes(entry.id()));
        record.getValue()
                .forEach((field, value) -> {
                    arguments.add(field);
                    arguments.add(value);
                });
        for (String text :
                List.of(
                        "dlqStream", entry.stream(), "dlqGroup", group, "dlqId", entry.id(),
                        "dlqDeliveries", String.valueOf(entry.deliveries()), "dlqReason", reason,
                        "dlqOrder", "unknown")) {
            arguments.add(bytes(text));
        }
        return eval(BURY, 2, arguments);
    }

    /** Rejects an order of which nothing is sold; false if there is none such. */
    boolean rejectUnsold(OrderPlaced placed, String reason) {
        StreamEntry entry = placed.entry();
        Long sale = placed.order().sale();
        return eval(
                REJECT_UNSOLD,
                2,
                texts(
                        entry.stream(), placed.order().voucher(), group, entry.id(),
                        placed.order().orderId(), placed.order().user(), reason,
                        sale == null ? "" : sale.toString()));
    }

    /** Returns what is pending for this consumer to the group, and deletes the consumer. */
    void leave(String stream, Duration claimAfter) {
        eval(LEAVE, 1, texts(stream, group, name, String.valueOf(claimAfter.toMillis())));
    }

    private boolean eval(String script, int keys, List<byte[]> keysAndArguments) {
        Long done = connection
                .scriptingCommands().eval(
                        bytes(script), ReturnType.INTEGER, keys,
                        keysAndArguments.toArray(new byte[0][]));
        return Long.valueOf(1).equals(done);
    }

    /** Whether it is an error reply of the server with this code word, whoever has wrapped it. */
    static boolean hasCode(Throwable failed, String code) {
        for (Throwable cause = failed; cause != null; cause = cause.getCause()) {
            String reply = String.valueOf(cause.getMessage());
            if (reply.startsWith(code + " ")) {
                return true;
            }
        }
        return false;
    }

    private static List<byte[]> texts(String... texts) {
        return Arrays.stream(texts).map(GroupConsumer::bytes).toList();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
