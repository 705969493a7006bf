package shop;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;

/** Sends entries to Kafka, and acknowledges what all replicas in sync have: docs/brokers.md */
public final class KafkaBridge {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.ACKS_CONFIG, "all"); // spring.kafka.producer.acks
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 10_000);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 10_000);
        KafkaTemplate<String, String> kafka =
                new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(settings));
        Streams streams = new Streams(System.getenv("REDIS_URL"));
        while (true) {
            try {
                kafka.partitionsFor("stream.orders");
                send(kafka, streams, streams.next());
            } catch (Exception error) {
                System.err.println(error);
                Thread.sleep(1_000);
                streams.createGroups();
            }
        }
    }

    private static void send(KafkaTemplate<String, String> kafka, Streams streams,
            List<Streams.Entry> batch) throws Exception {
        List<Future<?>> results = new ArrayList<>();
        for (Streams.Entry entry : batch) {
            // The order id is the key: the repeats of an order are in one partition.
            ProducerRecord<String, String> record =
                    new ProducerRecord<>(entry.stream, entry.order, entry.json);
            record.headers().add("entry", entry.id.getBytes("UTF-8"));
            results.add(kafka.send(record)); // Spring Kafka 2: a ListenableFuture
        }
        List<Streams.Entry> confirmed = new ArrayList<>();
        for (int at = 0; at < batch.size(); at++) {
            try {
                results.get(at).get(); // ends after delivery.timeout.ms
                confirmed.add(batch.get(at));
            } catch (ExecutionException refused) {
                System.err.println(batch.get(at).id + " stays pending: " + refused.getCause());
            }
        }
        streams.acknowledge(confirmed);
    }
}
