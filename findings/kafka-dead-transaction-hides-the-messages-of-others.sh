#!/usr/bin/env bash
# Kafka: a program dies in a transaction. Then another one, which uses none, sends to the same partition and gets its confirm.
# Guess: a consumer that reads committed messages passes over the open transaction, and gets what is complete.
# Seen with Kafka 4.4.0: it gets nothing that was sent behind the open transaction, until the broker ends that a minute later
# (transaction.timeout.ms), so for a minute no order of anybody arrives. A reader of uncommitted messages, the default,
# gets all at once, that of the dead program included.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    static Map<String, Object> settings(String server, String name, String value) {
        return new HashMap<>(Map.of("bootstrap.servers", server, name, value,
                "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class,
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
    }

    /** What a reader has got after some seconds, or when it got the first. */
    static String read(String server, String isolation, long seconds) {
        var settings = settings(server, "isolation.level", isolation);
        settings.put("group.id", isolation);
        settings.put("auto.offset.reset", "earliest");
        List<String> got = new ArrayList<>();
        try (var consumer = new KafkaConsumer<String, String>(settings)) {
            consumer.subscribe(List.of("orders"));
            long start = System.nanoTime();
            while (got.isEmpty() && System.nanoTime() - start < seconds * 1_000_000_000) {
                consumer.poll(Duration.ofMillis(200)).forEach(record -> got.add(record.value()));
            }
        }
        return isolation + " within " + seconds + " seconds: " + got;
    }

    public static void main(String[] args) throws Exception {
        String server = args[0];
        if (args[1].equals("die")) {
            Admin.create(settings(server, "client.id", "x")).createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get();
            var producer = new KafkaProducer<String, String>(settings(server, "transactional.id", "bridge"));
            producer.initTransactions();
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("orders", "of the dead")).get();
        } else {
            new KafkaProducer<String, String>(settings(server, "client.id", "other"))
                    .send(new ProducerRecord<>("orders", "order 7")).get();
            System.out.println(read(server, "read_committed", 20));
            System.out.println(read(server, "read_uncommitted", 20));
            System.out.println(read(server, "read_committed", 100));
        }
        Runtime.getRuntime().halt(0);
    }
}
JAVA
probe "127.0.0.1:$port" die
probe "127.0.0.1:$port" look >"$folder/seen"
while IFS=: read -r what expected; do seen "$what" "${expected# }" "$(sed -n "s/^$what: //p" "$folder/seen")"; done <<'SEEN'
read_committed within 20 seconds: []
read_uncommitted within 20 seconds: [of the dead, order 7]
read_committed within 100 seconds: [order 7]
SEEN
verdict
