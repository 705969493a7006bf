#!/usr/bin/env bash
# RocketMQ: ten messages are in a topic. A new consumer group starts with CONSUME_FROM_LAST_OFFSET, the client's default.
# Guess: it gets what comes from now on.
# Seen with RocketMQ 5.3.3: it gets the ten, too. As long as the first message of a queue is there and in memory, says the broker's
# source, a new group begins with it. So a group that is added to a young topic, or tried beside it in a test, handles all of its
# orders a second time; of an old and large topic it gets none.
. "$(dirname "$0")/common.sh"
start_broker rocketmq
java_program org.apache.rocketmq:rocketmq-client:5.3.3 <<'JAVA'
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.DefaultMQProducer;
import org.apache.rocketmq.common.message.Message;

public class Probe {
    public static void main(String[] args) throws Exception {
        var producer = new DefaultMQProducer("shop");
        producer.setNamesrvAddr(args[0]);
        producer.start();
        for (int i = 1; i <= 10; i++) {
            try {
                producer.send(new Message("orders", "", "" + i, "old".getBytes()));
            } catch (Exception notYet) {
                i--;
                Thread.sleep(1_000);
            }
        }
        Set<String> old = ConcurrentHashMap.newKeySet(), later = ConcurrentHashMap.newKeySet();
        var consumer = new DefaultMQPushConsumer("consumer");
        consumer.setNamesrvAddr(args[0]);
        consumer.subscribe("orders", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (var message : messages) (new String(message.getBody()).equals("old") ? old : later).add(message.getKeys());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        Thread.sleep(20_000);
        producer.send(new Message("orders", "", "11", "new".getBytes()));
        while (later.isEmpty()) Thread.sleep(100);
        System.out.println(consumer.getConsumeFromWhere() + ": " + old.size() + " old, " + later.size() + " new");
        System.exit(0);
    }
}
JAVA
seen "a new group" "CONSUME_FROM_LAST_OFFSET: 10 old, 1 new" "$(probe "127.0.0.1:$((port + 3))" | grep CONSUME)"
verdict
