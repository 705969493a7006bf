#!/usr/bin/env bash
# RabbitMQ: persistent messages, published as mandatory, with confirms, to a durable queue.
# Guess: a message that is confirmed and was not returned is in the queue, until a consumer acknowledges it.
# Seen with RabbitMQ 3.10.8: that says that a queue was found, not that it keeps the message. A message whose expiration is 0, one
# for a queue of length 0, and all but the last of a full queue are confirmed, not returned, and gone; a message that expires
# is gone as well when the queue that its dead letters go to is missing. A full queue confirms the new message and
# drops the oldest, so what is lost was confirmed long ago.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
java_program com.rabbitmq:amqp-client:5.37.1 org.slf4j:slf4j-nop:2.0.17 <<'JAVA'
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.Channel;
import com.rabbitmq.client.ConnectionFactory;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;

public class Probe {
    static Channel channel;
    static AtomicInteger returned = new AtomicInteger();

    static void look(String what, Map<String, Object> queue, String expiration, int count) throws Exception {
        channel.queueDeclare(what, true, false, false, queue);
        returned.set(0);
        for (int i = 1; i <= count; i++) {
            channel.basicPublish("", what, true, new BasicProperties.Builder().deliveryMode(2)
                    .expiration(expiration).build(), ("" + i).getBytes());
        }
        boolean confirmed = channel.waitForConfirms(10_000);
        Thread.sleep(1_000);
        StringBuilder there = new StringBuilder();
        for (var message = channel.basicGet(what, true); message != null; message = channel.basicGet(what, true)) {
            there.append(' ').append(new String(message.getBody()));
        }
        System.out.println(what + ": " + (confirmed ? "all of " + count + " confirmed" : "refused") + ", "
                + returned + " returned, there" + there);
    }

    public static void main(String[] args) throws Exception {
        var factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(Integer.parseInt(args[0]));
        channel = factory.newConnection().createChannel();
        channel.confirmSelect();
        channel.addReturnListener(message -> returned.incrementAndGet());
        look("usual", Map.of(), null, 5);
        look("expiration 0", Map.of(), "0", 5);
        look("length 0", Map.of("x-max-length", 0), null, 5);
        look("length 2", Map.of("x-max-length", 2), null, 5);
        look("dead letters to a missing queue",
                Map.of("x-dead-letter-exchange", "", "x-dead-letter-routing-key", "missing"), "100", 5);
        System.exit(0);
    }
}
JAVA
probe "$port" >"$folder/seen"
while IFS=: read -r what expected; do seen "$what" "${expected# }" "$(sed -n "s/^$what: //p" "$folder/seen")"; done <<'SEEN'
usual: all of 5 confirmed, 0 returned, there 1 2 3 4 5
expiration 0: all of 5 confirmed, 0 returned, there
length 0: all of 5 confirmed, 0 returned, there
length 2: all of 5 confirmed, 0 returned, there 4 5
dead letters to a missing queue: all of 5 confirmed, 0 returned, there
SEEN
verdict
