#!/usr/bin/env bash
# RocketMQ: transaction messages with a delay, which are committed.
# Guess: they are delivered so long after the commit, as other messages with a delay, or refused.
# Seen with RocketMQ 5.3.3: a delay level (here 30 seconds) is dropped without a word, and the message delivered at once: the unpaid order
# is cancelled before it can be paid. A delay time (here 2 seconds) makes the commit have no effect: the broker asks back
# again and again, more and more often, is answered with commit each time, and gives up after thousands of questions. Nobody gets
# the message. The same delays without a transaction are kept.
. "$(dirname "$0")/common.sh"
start_broker rocketmq
java_program org.apache.rocketmq:rocketmq-client:5.3.3 <<'JAVA'
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.rocketmq.client.consumer.DefaultMQPushConsumer;
import org.apache.rocketmq.client.consumer.listener.ConsumeConcurrentlyStatus;
import org.apache.rocketmq.client.consumer.listener.MessageListenerConcurrently;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.consumer.ConsumeFromWhere;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

public class Probe {
    static final Map<String, Long> seen = new ConcurrentHashMap<>(), sent = new ConcurrentHashMap<>();

    static Message message(String key) {
        sent.put(key, System.currentTimeMillis());
        return new Message("orders", "", key, key.getBytes());
    }

    public static void main(String[] args) throws Exception {
        var asked = new AtomicInteger();
        var producer = new TransactionMQProducer("shop");
        producer.setNamesrvAddr(args[0]);
        producer.setTransactionListener(new TransactionListener() {
            @Override public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.COMMIT_MESSAGE;
            }

            @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
                asked.incrementAndGet();
                return LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.start();
        while (true) {
            try {
                producer.send(message("first"));
                break;
            } catch (Exception notYet) {
                Thread.sleep(1_000);
            }
        }
        var consumer = new DefaultMQPushConsumer("consumer");
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("orders", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (var message : messages) seen.put(message.getKeys(), System.currentTimeMillis());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        while (!seen.containsKey("first")) Thread.sleep(100);
        for (String kind : new String[] {"plain", "transaction"}) {
            Message level = message(kind + " level"), time = message(kind + " time");
            level.setDelayTimeLevel(4);
            time.setDelayTimeMs(2_000);
            for (Message message : new Message[] {level, time}) {
                if (kind.equals("plain")) producer.send(message);
                else producer.sendMessageInTransaction(message, null);
            }
        }
        Thread.sleep(100_000);
        for (String what : new String[] {"plain level", "plain time", "transaction level", "transaction time"}) {
            Long at = seen.get(what);
            System.out.println(what + ": " + (at == null ? "never" : at - sent.get(what) < 20_000
                    ? at - sent.get(what) < 1_900 ? "at once" : "after some seconds" : "after half a minute"));
        }
        System.out.println("asked: " + (asked.get() > 500 ? "more than 500 times" : asked + " times"));
        System.exit(0);
    }
}
JAVA
probe "127.0.0.1:$((port + 3))" >"$folder/seen"
while IFS=: read -r what expected; do seen "$what" "${expected# }" "$(sed -n "s/^$what: //p" "$folder/seen")"; done <<'SEEN'
plain level: after half a minute
plain time: after some seconds
transaction level: at once
transaction time: never
asked: more than 500 times
SEEN
verdict
