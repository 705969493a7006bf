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
import org.apache.kafka.clients.admin.AdminClient;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.springframework.kafka.core.KafkaTemplate;

/**
 * Sends the entries of a stream to the topic of the same name, and acknowledges what Kafka has
 * confirmed. All else stays pending, and is sent again: docs/brokers.md
 */
final class KafkaBridge {
    /** All bridges are one consumer: its history is what any has read and not acknowledged. */
    private static final Consumer<String> BRIDGE = Consumer.from("broker", "bridge");
    private static final StringCodec BYTES = new StringCodec(ISO_8859_1); // each is a character
    private static final ObjectMapper JSON = new ObjectMapper();
    private final RedisClient redis;
    private final KafkaTemplate<String, byte[]> kafka;

    /** Needs acks=all, and delivery.timeout.ms and max.block.ms of some seconds. */
    KafkaBridge(RedisClient redis, KafkaTemplate<String, byte[]> kafka) {
        this.redis = redis;
        this.kafka = kafka;
    }

    // While one worker waits for Kafka, another reads; the last one sends what is pending. It reads
    // more at once than all are sending, or its round would not end meanwhile.
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
        Map<String, Object> settings = kafka.getProducerFactory().getConfigurationProperties();
        try (StatefulRedisConnection<String, String> connection = redis.connect(BYTES)) {
            try (AdminClient admin = AdminClient.create(settings)) {
                admin.describeCluster().nodes().get(); // nothing is read while Kafka is away
            }
            kafka.partitionsFor(stream); // or has no such topic
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
        Map<String, Future<?>> results = new HashMap<>();
        Set<String> done = new HashSet<>();
        for (StreamMessage<String, String> entry : entries) {
            byte[] body = JSON.writeValueAsString(entry.getBody()).getBytes(ISO_8859_1);
            String id = entry.getId(), name = id + " of " + stream;
            if (entry.getBody().isEmpty()) {
                System.err.println("LOST: " + name + " was trimmed unacknowledged");
                done.add(id);
            } else if (!Arrays.equals(body, new String(body, UTF_8).getBytes(UTF_8))) {
                System.err.println(name + " stays pending: it is not UTF-8");
            } else { // by its order id, so that the repeats of an order are in one partition
                byte[] order = entry.getBody().getOrDefault("id", "").getBytes(ISO_8859_1);
                ProducerRecord<String, byte[]> record =
                        new ProducerRecord<>(stream, new String(order, UTF_8), body);
                record.headers().add("entry", id.getBytes(UTF_8));
                // The template's send() throws what Kafka refuses: nothing behind it would be sent.
                results.put(id, kafka.execute(producer -> producer.send(record)));
            }
        }
        for (Map.Entry<String, Future<?>> sent : results.entrySet()) {
            try {
                sent.getValue().get(); // ends after delivery.timeout.ms
                done.add(sent.getKey());
            } catch (ExecutionException refused) {
                System.err.println(sent.getKey() + " stays pending: " + refused.getCause());
            }
        }
        if (!done.isEmpty()) redis.xack(stream, BRIDGE.getGroup(), done.toArray(new String[0]));
        boolean all = done.containsAll(results.keySet());
        if (after.equals(">") && !all) throw new Exception("not all is confirmed");
        if (after.equals(">")) return after;
        // All or not: what is refused holds up nothing behind it.
        return entries.size() < most ? null : entries.get(most - 1).getId();
    }
}
