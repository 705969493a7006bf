#!/usr/bin/env bash
# Kafka: five records are sent within the time of linger.ms; the broker can't take the third, which has no key in a compacted topic,
# or a time in microseconds.
# Guess: the third fails, the others are written.
# Seen with Kafka 4.4.0: all five fail, and none is written: the client repeats none by itself, and says to four of them that another
# record of their batch was invalid. Who sends them again together gets the same answer for ever; one by one, four are written.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    public static void main(String[] args) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", args[0], "linger.ms", 2_000,
                "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class);
        var admin = Admin.create(settings);
        admin.createTopics(List.of(new NewTopic("plain", 1, (short) 1),
                new NewTopic("compacted", 1, (short) 1).configs(Map.of("cleanup.policy", "compact")))).all().get();
        var producer = new KafkaProducer<String, String>(settings);
        for (String what : new String[] {"compacted together", "compacted again", "compacted one by one", "plain together"}) {
            String topic = what.substring(0, what.indexOf(' '));
            List<Future<?>> results = new ArrayList<>();
            StringBuilder said = new StringBuilder();
            for (int i = 1; i <= 5; i++) {
                long now = System.currentTimeMillis();
                boolean bad = i == 3;
                results.add(producer.send(new ProducerRecord<>(topic, 0, bad && topic.equals("plain") ? now * 1_000 : now,
                        bad && topic.equals("compacted") ? null : "" + i, "" + i)));
                if (what.endsWith("one by one")) producer.flush();
            }
            for (Future<?> result : results) {
                try {
                    result.get();
                    said.append(" written");
                } catch (ExecutionException refused) {
                    said.append(' ').append(refused.getCause().getClass().getSimpleName());
                }
            }
            System.out.println(what + ":" + said);
        }
        System.exit(0);
    }
}
JAVA
probe "127.0.0.1:$port" >"$folder/seen"
while IFS=: read -r what expected; do seen "$what" "${expected# }" "$(sed -n "s/^$what: //p" "$folder/seen")"; done <<'SEEN'
compacted together: KafkaException KafkaException InvalidRecordException KafkaException KafkaException
compacted again: KafkaException KafkaException InvalidRecordException KafkaException KafkaException
compacted one by one: written written InvalidRecordException written written
plain together: KafkaException KafkaException InvalidTimestampException KafkaException KafkaException
SEEN
verdict
