package shop;

import static java.nio.charset.StandardCharsets.ISO_8859_1;
import static java.nio.charset.StandardCharsets.UTF_8;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.*;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import java.util.*;
import java.util.concurrent.*;
import org.springframework.amqp.core.*;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/**
 * Sends the entries of a stream to the queue of the same name, and acknowledges what RabbitMQ has
 * confirmed. All else stays pending, and is sent again: docs/brokers.md
 */
final class RabbitBridge {
    /** All bridges are one consumer: its history is what any has read and not acknowledged. */
    private static final Consumer<String> BRIDGE = Consumer.from("broker", "bridge");
    private static final StringCodec BYTES = new StringCodec(ISO_8859_1); // each is a character
    private static final ObjectMapper JSON = new ObjectMapper();
    private final RedisClient redis;
    private final RabbitTemplate rabbit;

    /** Needs publisher-confirm-type: correlated, publisher-returns and template.mandatory: true. */
    RabbitBridge(RedisClient redis, RabbitTemplate rabbit) {
        this.redis = redis;
        this.rabbit = rabbit;
    }

    // While one worker waits for confirms, another reads; the last one sends what is pending. It
    // reads more at once than all are sending, or its round would not end meanwhile.
    ExecutorService start(String stream) {
        ScheduledExecutorService workers = Executors.newScheduledThreadPool(4);
        for (int worker = 0; worker < 3; worker++) {
            workers.scheduleWithFixedDelay(() -> work(stream, ">", 1_000), 0, 1, TimeUnit.SECONDS);
        }
        workers.scheduleWithFixedDelay(() -> work(stream, "0", 10_000), 0, 30, TimeUnit.SECONDS);
        return workers;
    }

    /** Sends what is new, after ">", until something fails, or once all that is pending. */
    private void work(String stream, String after, int most) {
        try (StatefulRedisConnection<String, String> connection = redis.connect(BYTES)) {
            rabbit.execute(channel -> channel.isOpen()); // nothing is read while it is away
            try {
                connection.sync().xgroupCreate(StreamOffset.from(stream, "0"), BRIDGE.getGroup(),
                        XGroupCreateArgs.Builder.mkstream());
            } catch (RedisBusyException exists) { }
            while (after != null) after = batch(connection.sync(), stream, after, most);
        } catch (Throwable error) { // one that is thrown would end the schedule
            System.err.println(stream + ": " + error);
        }
    }

    /** Returns after what to go on, or null at the end of what is pending. */
    private String batch(RedisCommands<String, String> redis, String stream, String after, int most)
            throws Exception {
        List<StreamMessage<String, String>> entries = redis.xreadgroup(BRIDGE,
                XReadArgs.Builder.block(1_000).count(most), StreamOffset.from(stream, after));
        Map<String, Message> messages = new LinkedHashMap<>();
        Set<String> done = new HashSet<>();
        for (StreamMessage<String, String> entry : entries) {
            byte[] body = JSON.writeValueAsString(entry.getBody()).getBytes(ISO_8859_1);
            String id = entry.getId(), name = id + " of " + stream;
            if (entry.getBody().isEmpty()) {
                System.err.println("LOST: " + name + " was trimmed unacknowledged");
                done.add(id);
            } else if (!Arrays.equals(body, new String(body, UTF_8).getBytes(UTF_8))) {
                System.err.println(name + " stays pending: it is not UTF-8");
            } else {
                messages.put(id, MessageBuilder.withBody(body).setContentType("application/json")
                        .setMessageId(id).setDeliveryMode(MessageDeliveryMode.PERSISTENT).build());
            }
        }
        Map<String, CorrelationData> confirms = new HashMap<>();
        rabbit.invoke(channel -> { // one for all, where no other message has the same id
            messages.forEach((id, message) -> channel.send("", stream, message,
                    confirms.computeIfAbsent(id, CorrelationData::new)));
            return null;
        });
        Object returned = null; // as no queue takes it; then it is confirmed
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        for (Map.Entry<String, CorrelationData> sent : confirms.entrySet()) {
            CorrelationData confirm = sent.getValue();
            try {
                long left = until - System.nanoTime();
                boolean is = confirm.getFuture().get(left, TimeUnit.NANOSECONDS).isAck();
                if (confirm.getReturned() != null) returned = confirm.getReturned();
                else if (is) done.add(sent.getKey());
            } catch (TimeoutException late) { } // its confirm, if it comes, is of nobody
        }
        if (!done.isEmpty()) redis.xack(stream, BRIDGE.getGroup(), done.toArray(new String[0]));
        if (!done.containsAll(confirms.keySet())) {
            throw new Exception("not all is confirmed, returned is " + returned);
        }
        if (after.equals(">")) return after;
        return entries.size() < most ? null : entries.get(most - 1).getId();
    }
}
