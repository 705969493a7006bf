#!/usr/bin/env bash
# RocketMQ: twenty transaction messages, committed by their program and delivered. A second later the broker is killed, which
# flushes each message to the disk (SYNC_FLUSH).
# Guess: what was committed and delivered is over, and the broker asks for none of it.
# Seen with RocketMQ 5.3.3: it asks for each of the twenty again, and delivers each a second time, as another message. That a message
# was answered is written every three seconds only (transactionOpBatchInterval), and is lost until then. So a check-back has to
# know the outcome after it was told, and any transaction message may come twice.
. "$(dirname "$0")/common.sh"
export TRANSACTION_CHECK_MS=10000
start_broker rocketmq
java_program org.apache.rocketmq:rocketmq-client:5.3.3 <<'JAVA'
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
        while (true) { // it is not asked before it has sent something
            try {
                producer.send(new Message("orders", "plain", "plain".getBytes()));
                break;
            } catch (Exception notYet) {
                Thread.sleep(1_000);
            }
        }
        var plain = new AtomicInteger();
        var orders = new AtomicInteger();
        var consumer = new DefaultMQPushConsumer("consumer-" + args[1]); // a group of its own reads all
        consumer.setNamesrvAddr(args[0]);
        consumer.setConsumeFromWhere(ConsumeFromWhere.CONSUME_FROM_FIRST_OFFSET);
        consumer.subscribe("orders", "*");
        consumer.registerMessageListener((MessageListenerConcurrently) (messages, context) -> {
            for (var message : messages) ("plain".equals(message.getTags()) ? plain : orders).incrementAndGet();
            return ConsumeConcurrentlyStatus.CONSUME_SUCCESS;
        });
        consumer.start();
        while (plain.get() == 0) Thread.sleep(10);
        if (args[1].equals("before")) {
            for (int at = 0; at < 20; at++) {
                producer.sendMessageInTransaction(new Message("orders", "order", ("order " + at).getBytes()), null);
            }
            while (orders.get() < 20) Thread.sleep(10);
        } else {
            Thread.sleep(40_000);
        }
        System.out.println("asked " + asked + " times, " + orders + " delivered");
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
seen "before the kill" "asked 0 times, 20 delivered" "$(probe "127.0.0.1:$((port + 3))" before)"
kill_broker
start_broker rocketmq
seen "after the kill" "asked 20 times, 40 delivered" "$(probe "127.0.0.1:$((port + 3))" after)"
verdict
