#!/usr/bin/env bash
# Kafka: a consumer with all settings as they come reads five orders in one poll; the handler stores the first, and throws at the
# second. The exception leaves the loop and the try (var consumer = ...) around it, and the process starts again.
# Guess: offsets are committed by a later poll, of what an earlier one has returned: all five come again, at least once.
# Seen with Kafka 4.4.0, by the classic and by the new protocol (group.protocol=consumer): none comes again. close() commits what
# the last poll has returned (enable.auto.commit), handled or not, so four orders are lost by an exception. With
# enable.auto.commit=false all five come again. Commit by yourself what is stored.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", args[0], "group.id", args[1] + args[2],
                "group.protocol", args[1], "enable.auto.commit", args[2], "auto.offset.reset", "earliest",
                "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class,
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
        String topic = args[1] + args[2];
        try (var producer = new KafkaProducer<String, String>(settings)) {
            for (int id = 1; id <= 5; id++) producer.send(new ProducerRecord<>(topic, 0, null, "" + id)).get();
        }
        int read = 0;
        try (var consumer = new KafkaConsumer<String, String>(settings)) {
            consumer.subscribe(List.of(topic));
            while (true) {
                var records = consumer.poll(Duration.ofMillis(500));
                read += records.count();
                for (var record : records) {
                    if (record.value().equals("2")) throw new IllegalStateException("the database is away");
                }
            }
        } catch (IllegalStateException thrown) {
            System.out.print("read " + read + ", then");
        }
        try (var producer = new KafkaProducer<String, String>(settings)) {
            producer.send(new ProducerRecord<>(topic, 0, null, "6")).get();
        }
        try (var consumer = new KafkaConsumer<String, String>(settings)) {
            consumer.subscribe(List.of(topic));
            for (String last = ""; !last.equals("6");) {
                for (var record : consumer.poll(Duration.ofMillis(500))) {
                    last = record.value();
                    System.out.print(" " + last);
                }
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
seen "by the classic protocol" "read 5, then 6" "$(probe "127.0.0.1:$port" classic true)"
seen "by the new one" "read 5, then 6" "$(probe "127.0.0.1:$port" consumer true)"
seen "without enable.auto.commit" "read 5, then 1 2 3 4 5 6" "$(probe "127.0.0.1:$port" classic false)"
verdict
