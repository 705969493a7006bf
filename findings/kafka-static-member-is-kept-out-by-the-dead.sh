#!/usr/bin/env bash
# Kafka: a consumer with a group.instance.id, as a pod of a StatefulSet has for fast restarts, is killed, and starts again with the same.
# Guess: it takes its old place at once, with its partitions: that is what static members are for; the new protocol is no worse.
# Seen with Kafka 4.4.0: so it is by the classic protocol. By the new one (group.protocol=consumer) it is refused, by
# UnreleasedInstanceIdException, for as long as the dead one's session lasts, 45 seconds as it comes: a program that ends with the
# exception crashes again and again, and no order of its partitions is read meanwhile. Catch it and try again for a minute, or
# stay with the classic protocol where members are static.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.UnreleasedInstanceIdException;
import org.apache.kafka.common.serialization.StringDeserializer;

public class Probe {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", args[0], "group.id", args[1],
                "group.protocol", args[1], "group.instance.id", "pod-0",
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
        try (var admin = Admin.create(settings)) {
            if (!admin.listTopics().names().get().contains("orders")) {
                admin.createTopics(List.of(new NewTopic("orders", 1, (short) 1))).all().get();
            }
        }
        var consumer = new KafkaConsumer<String, String>(settings);
        consumer.subscribe(List.of("orders"));
        try {
            while (consumer.assignment().isEmpty()) consumer.poll(Duration.ofMillis(100));
            System.out.println("assigned");
        } catch (UnreleasedInstanceIdException refused) {
            System.out.println("refused");
        }
        // No good-bye: the process is killed.
        Runtime.getRuntime().halt(0);
    }
}
JAVA
member() { probe "127.0.0.1:$port" "$1"; }
seen "by the classic protocol, and after a kill" "assigned assigned" "$(member classic) $(member classic)"
seen "by the new one, and after a kill" "assigned refused" "$(member consumer) $(member consumer)"
until [ "$(member consumer)" = assigned ]; do sleep 5; done
echo "it is assigned once the session of the dead one is over"
verdict
