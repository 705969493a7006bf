#!/usr/bin/env bash
# RocketMQ: transaction messages whose check-back can't say yet how they ended: one is answered with UNKNOW, since the program's
# database is down; the program that sent the other one is down itself.
# Guess: the broker asks until it is told commit or rollback.
# Seen with RocketMQ 5.3.3: it asks 15 times (transactionCheckMax), which by default is over after eight minutes, and a question that
# nobody is there to hear counts. Then it never asks again, nobody gets the message, and nobody is told: it is in
# the topic TRANS_CHECK_MAX_TIME_TOPIC. Here it asks every second.
. "$(dirname "$0")/common.sh"
start_broker rocketmq
java_program org.apache.rocketmq:rocketmq-client:5.3.3 <<'JAVA'
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;
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
    static String names;

    static Set<String> consume(String topic) throws Exception {
        Set<String> seen = new ConcurrentSkipListSet<>();
        var consumer = new DefaultMQPushConsumer("consumer-" + topic);
        consumer.setNamesrvAddr(names);
        consumer.setInstanceName(topic);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe(topic, "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (var message : messages) seen.add(message.getKeys());
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        return seen;
    }

    public static void main(String[] args) throws Exception {
        names = args[0];
        var asked = new AtomicInteger();
        var database = new AtomicInteger(); // 0: down
        var producer = new TransactionMQProducer("shop");
        producer.setNamesrvAddr(names);
        producer.setTransactionListener(new TransactionListener() {
            @Override public LocalTransactionState executeLocalTransaction(Message message, Object argument) {
                return LocalTransactionState.UNKNOW;
            }

            @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
                asked.incrementAndGet();
                return database.get() == 0 ? LocalTransactionState.UNKNOW : LocalTransactionState.COMMIT_MESSAGE;
            }
        });
        producer.start();
        while (true) {
            try {
                producer.send(new Message("orders", "", "plain", "plain".getBytes()));
                break;
            } catch (Exception notYet) {
                Thread.sleep(1_000);
            }
        }
        var delivered = consume("orders");
        var dead = new TransactionMQProducer("shop-that-is-down");
        dead.setNamesrvAddr(names);
        dead.setInstanceName("dead");
        dead.setTransactionListener(producer.getTransactionListener());
        dead.start();
        dead.sendMessageInTransaction(new Message("orders", "", "order 8", "order 8".getBytes()), null);
        dead.shutdown();
        producer.sendMessageInTransaction(new Message("orders", "", "order 7", "order 7".getBytes()), null);
        // Until nobody has asked for half a minute.
        for (int before = -1; before != asked.get() || before == 0; Thread.sleep(30_000)) before = asked.get();
        database.set(1);
        Thread.sleep(15_000);
        System.out.println("asked " + asked + " times, delivered " + delivered
                + ", given up " + consumed("TRANS_CHECK_MAX_TIME_TOPIC"));
        System.exit(0);
    }

    static Set<String> consumed(String topic) throws Exception {
        var seen = consume(topic);
        for (int i = 0; i < 60 && seen.size() < 2; i++) Thread.sleep(1_000);
        return seen;
    }
}
JAVA
seen "two transactions whose outcome is known late" "asked 15 times, delivered [plain], given up [order 7, order 8]" \
    "$(probe "127.0.0.1:$((port + 3))")"
verdict
