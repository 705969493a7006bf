package shop;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
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

    public static void main(String[] args) throws Exception {
        KafkaBridge bridge = new KafkaBridge(args[0]);
        bridge.start();
        while (true) bridge.forward();
    }

    @Override void connect() { kafka.partitionsFor("stream.orders"); }

    @Override List<Entry> send(List<Entry> batch) throws Exception {
        List<Future<?>> results = new ArrayList<>();
        for (Entry entry : batch) {
            // The order id is the key: the repeats of an order are in one partition.
            ProducerRecord<String, byte[]> record =
                    new ProducerRecord<>(entry.stream, entry.fields.get("id"), entry.json());
            record.headers().add("entry", entry.id.getBytes("UTF-8"));
            results.add(kafka.send(record)); // Spring Kafka 2: a ListenableFuture
        }
        List<Entry> confirmed = new ArrayList<>();
        for (int at = 0; at < batch.size(); at++) {
            try {
                results.get(at).get(); // ends after delivery.timeout.ms
                confirmed.add(batch.get(at));
            } catch (ExecutionException refused) {
                System.err.println(batch.get(at).id + " stays pending: " + refused.getCause());
            }
        }
        return confirmed;
    }
}
