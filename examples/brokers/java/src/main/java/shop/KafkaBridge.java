package shop;

import io.lettuce.core.StreamMessage;
import java.util.*;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;

/** Sends entries to Kafka, and acknowledges what all replicas in sync have: docs/brokers.md */
public final class KafkaBridge extends Bridge {
    private final KafkaTemplate<String, byte[]> kafka;

    KafkaBridge(String address) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, address);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        settings.put(ProducerConfig.ACKS_CONFIG, "all"); // spring.kafka.producer.acks
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 10_000);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 10_000);
        kafka = new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(settings));
    }

    public static void main(String[] args) { new KafkaBridge(args[0]).start(); }

    @Override void connect() { kafka.partitionsFor("stream.orders"); }

    @Override List<String> send(String topic, List<StreamMessage<String, String>> entries)
            throws Exception {
        Map<String, Future<?>> results = new LinkedHashMap<>();
        for (StreamMessage<String, String> entry : entries) {
            // The order id is the key: the repeats of an order are in one partition.
            ProducerRecord<String, byte[]> record = new ProducerRecord<>(
                    topic, entry.getBody().get("id"), JSON.writeValueAsBytes(entry.getBody()));
            record.headers().add("entry", entry.getId().getBytes("UTF-8"));
            results.put(entry.getId(), kafka.send(record)); // Spring Kafka 2: a ListenableFuture
        }
        List<String> confirmed = new ArrayList<>();
        for (String id : results.keySet()) {
            try {
                results.get(id).get(); // ends after delivery.timeout.ms
                confirmed.add(id);
            } catch (ExecutionException refused) {
                System.err.println(id + " of " + topic + " stays pending: " + refused.getCause());
            }
        }
        return confirmed;
    }
}
