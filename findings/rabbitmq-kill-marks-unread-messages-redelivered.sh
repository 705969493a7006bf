#!/usr/bin/env bash
# RabbitMQ: four persistent messages in a durable queue, of which a consumer has got two and acknowledged none. The broker is killed.
# Guess: afterwards the two are marked as redelivered, the others are not: nobody has seen those.
# Seen with RabbitMQ 3.10.8 and a classic queue: all four are marked (in a quorum queue only those that were taken). So a consumer that takes `redelivered` for "has
# failed here before", and rejects such a message, throws away or dead-letters all that waited in the queue. A transient
# message was confirmed like the others, and is gone.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
java_program com.rabbitmq:amqp-client:5.37.1 org.slf4j:slf4j-nop:2.0.17 <<'JAVA'
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(Integer.parseInt(args[0]));
        var channel = factory.newConnection().createChannel();
        channel.confirmSelect();
        String queue = "orders";
        channel.queueDeclare(queue, true, false, false, null);
        StringBuilder seen = new StringBuilder();
        if (args[1].equals("fill")) {
            for (String id : new String[] {"1", "2", "3", "4", "transient"}) {
                int mode = id.equals("transient") ? 1 : 2;
                channel.basicPublish("", queue, true, new BasicProperties.Builder().deliveryMode(mode).build(), id.getBytes());
            }
            seen.append(channel.waitForConfirms() ? "all confirmed, got" : "refused");
        } else if (channel.messageCount(queue) < 4) {
            System.exit(1); // not all is read again yet, or messages are gone
        }
        int count = args[1].equals("fill") ? 2 : 10;
        for (int i = 0; i < count; i++) {
            var message = channel.basicGet(queue, false);
            if (message == null) break;
            seen.append(" " + new String(message.getBody()) + (message.getEnvelope().isRedeliver() ? "*" : ""));
        }
        System.out.println(seen);
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
seen "before the kill" "all confirmed, got 1 2" "$(probe "$port" fill)"
kill_broker
start_broker rabbitmq
# It listens before it answers, and before the queue has its messages.
look() { for _ in $(seq 60); do ! probe "$port" all || return 0; sleep 1; done; echo "fewer than four"; }
seen "after the kill, redelivered with *" " 1* 2* 3* 4*" "$(look)"
verdict
