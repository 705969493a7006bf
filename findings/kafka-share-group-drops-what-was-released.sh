#!/usr/bin/env bash
# Kafka's share groups: a consumer gives orders back by RELEASE, "another delivery attempt", while its database is away, for some
# seconds. Another one crashes with one order, again and again, and never with those that were read together with it.
# Guess: what was given back comes until it is accepted, as what is rejected and put back does with RabbitMQ, or as an
# uncommitted offset does. If an order is given up at all, it is the one with which the consumer crashes.
# Seen with Kafka 4.4.0: the fifth RELEASE drops them all (share.delivery.count.limit). No poll has them any more, each commit
# has said that all is well, and nothing is a dead letter unless the group names a topic for them. With a poll a second a
# database that is away for five seconds costs the backlog. A crash counts for all that were read with it, so its neighbours
# have one delivery left at most, and a second cause to crash drops orders that were handed out once or never.
. "$(dirname "$0")/common.sh"
start_broker kafka
java_program org.apache.kafka:kafka-clients:4.4.0 <<'JAVA'
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigOp.OpType;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.consumer.AcknowledgeType;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

public class Probe {
    public static void main(String[] args) throws Exception {
        String topic = args[1];
        Map<String, Object> settings = new HashMap<>(Map.of("bootstrap.servers", args[0],
                "key.serializer", StringSerializer.class, "value.serializer", StringSerializer.class,
                "key.deserializer", StringDeserializer.class, "value.deserializer", StringDeserializer.class));
        if (args[2].equals("send")) {
            try (var admin = Admin.create(settings); var producer = new KafkaProducer<String, String>(settings)) {
                var earliest = new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), OpType.SET);
                admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, topic), List.of(earliest))).all().get();
                for (String id : args[3].split(" ")) producer.send(new ProducerRecord<>(topic, id)).get();
            }
            return;
        }
        settings.putAll(Map.of("group.id", topic, "share.acknowledgement.mode", "explicit"));
        var consumer = new KafkaShareConsumer<String, String>(settings);
        consumer.subscribe(List.of(topic));
        // What a dead consumer had read is locked for half a minute.
        for (int empty = -600; empty < 200; empty++) {
            var records = consumer.poll(Duration.ofMillis(200));
            if (!records.isEmpty()) empty = 0;
            for (var record : records) {
                System.out.print(record.value() + "/" + record.deliveryCount().get() + " ");
                System.out.flush();
                if (args[2].equals("crash")) Runtime.getRuntime().halt(1);
                consumer.acknowledge(record, AcknowledgeType.valueOf(args[2]));
            }
            consumer.commitSync().values().forEach(error -> error.ifPresent(System.out::println));
        }
        Runtime.getRuntime().halt(0);
    }
}
JAVA
group() { probe "127.0.0.1:$port" "$@" || true; }
group released send "1 2 3 4"
seen "order/delivery, of a consumer that releases each" \
    "$(echo {1,2,3,4}/{1,2,3,4,5})" "$(group released RELEASE | xargs -n 1 | sort | xargs)"
group released send 5
seen "what is left for one that accepts, and a later order" 5/1 "$(group released ACCEPT | xargs)"
group crashed send "1 2 3 4"
seen "five crashes" "1 1 1 1 1" "$(for _ in 1 2 3 4 5; do group crashed crash; done | sed 's:/. : :g' | xargs)"
echo "another one: $(group crashed crash)"
group crashed send 5
left=$(group crashed ACCEPT | sed 's:/. : :g')
seen "is order 2 left for one that accepts" no "$([[ " $left" != *" 2 "* && $left == *5* ]] && echo no || echo "yes: $left")"
verdict
