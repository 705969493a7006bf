#!/usr/bin/env bash
# RabbitMQ: an exchange with two queues, one of which is full and refuses what comes (reject-publish).
# Guess: a message is taken by all of its queues or by none: what is nacked was not delivered.
# Seen with RabbitMQ 3.10.8, with classic and quorum queues: the other queue has the message, and its consumer gets it at once. The
# nack is of the one queue that refused, so a publisher that repeats until it is confirmed fills the other queue with repeats.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
java_program com.rabbitmq:amqp-client:5.37.1 org.slf4j:slf4j-nop:2.0.17 <<'JAVA'
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import java.util.Map;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(Integer.parseInt(args[0]));
        var channel = factory.newConnection().createChannel();
        channel.confirmSelect();
        String type = args[1], full = type + "-full", free = type + "-free";
        channel.exchangeDeclare(type, "fanout", true);
        channel.queueDeclare(full, true, false, false,
                Map.of("x-queue-type", type, "x-max-length", 1, "x-overflow", "reject-publish"));
        channel.queueDeclare(free, true, false, false, Map.of("x-queue-type", type));
        channel.queueBind(full, type, "");
        channel.queueBind(free, type, "");
        // A quorum queue notices a little later that it is full.
        for (int i = 0; i < 5; i++) {
            channel.basicPublish(type, "", true, MessageProperties.PERSISTENT_BASIC, "earlier".getBytes());
            channel.waitForConfirms(10_000);
        }
        int refused = 0;
        for (int i = 0; i < 4; i++) {
            channel.basicPublish(type, "", true, MessageProperties.PERSISTENT_BASIC, "order 7".getBytes());
            if (!channel.waitForConfirms(10_000)) refused++;
        }
        int there = 0;
        for (var message = channel.basicGet(free, true); message != null; message = channel.basicGet(free, true)) {
            if (new String(message.getBody()).equals("order 7")) there++;
        }
        System.out.println("nacked " + refused + " times, delivered " + there + " times");
        System.exit(0);
    }
}
JAVA
for type in classic quorum; do
    seen "one order sent four times, $type queues" "nacked 4 times, delivered 4 times" "$(probe "$port" $type)"
done
verdict
