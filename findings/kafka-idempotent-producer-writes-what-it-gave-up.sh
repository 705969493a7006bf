#!/usr/bin/env bash
# Kafka: an idempotent producer (the default) sends an order while the broker stands still, gets a TimeoutException when
# delivery.timeout.ms is over, and sends the order again when the broker goes on.
# Guess: the order is there once: that is what idempotence is for, and what has failed was not written.
# Seen with Kafka 4.4.0: it is there twice. The broker finds the first request in its socket and carries it out, long after the
# producer was told that it failed; what the application sends again is a new message to the producer. Idempotence is
# about the client's own repeats alone.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Scanner;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", args[0],
                "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class,
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class,
                "group.id", "group", "auto.offset.reset", "earliest"));
        settings.putAll(Map.of("request.timeout.ms", 2_000, "delivery.timeout.ms", 4_000));
        var producer = new KafkaProducer<String, String>(settings);
        producer.send(new ProducerRecord<>("orders", "earlier")).get();
        var told = new Scanner(System.in);
        System.out.println("stop the broker");
        told.nextLine();
        try {
            producer.send(new ProducerRecord<>("orders", "order 7")).get();
            System.out.println("sent");
        } catch (ExecutionException error) {
            System.out.println(error.getCause().getClass().getSimpleName());
        }
        System.out.println("let it go on");
        told.nextLine();
        while (true) {
            try {
                producer.send(new ProducerRecord<>("orders", "order 7")).get();
                break;
            } catch (ExecutionException notYet) {
                System.out.println("once more");
            }
        }
        var consumer = new KafkaConsumer<String, String>(settings);
        consumer.subscribe(List.of("orders"));
        List<String> got = new ArrayList<>();
        for (int i = 0; i < 50; i++) consumer.poll(Duration.ofMillis(200)).forEach(record -> got.add(record.value()));
        System.out.println("there: " + got);
        Runtime.getRuntime().halt(0);
    }
}
JAVA
mkfifo "$folder/words"
probe "127.0.0.1:$port" <"$folder/words" >"$folder/seen" &
pids+=($!)
exec 3>"$folder/words"
until grep -q "stop the broker" "$folder/seen"; do sleep 0.2; done
kill -STOP "$broker"
echo >&3
until grep -q "let it go on" "$folder/seen"; do sleep 0.2; done
kill -CONT "$broker"
echo >&3
until grep -q "there:" "$folder/seen"; do sleep 0.2; done
seen "what the producer was told, and what was written" \
    "stop the broker TimeoutException let it go on there: [earlier, order 7, order 7]" "$(paste -sd ' ' "$folder/seen")"
verdict
