#!/usr/bin/env bash
# RabbitMQ: a quorum queue of one node is declared, a persistent message is confirmed, and the broker is killed at once.
# Guess: what a quorum queue confirms is in its log, so the message is there when the broker has started again.
# Seen with RabbitMQ 3.10.8: the queue is there, and never answers again: neither a get, nor a publisher's confirm, nor after a clean
# restart. It was not yet in a register of the node that is written later than the log, so nobody leads it ("leader not
# known"), and the message can't be had. A queue that is five seconds old has its message. A classic queue has it in either case.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
java_program com.rabbitmq:amqp-client:5.37.1 org.slf4j:slf4j-nop:2.0.17 <<'JAVA'
import com.rabbitmq.client.ConnectionFactory;
import com.rabbitmq.client.MessageProperties;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(Integer.parseInt(args[0]));
        var channel = factory.newConnection().createChannel();
        channel.confirmSelect();
        for (int at = 2; at < args.length; at++) {
            String queue = args[at], type = queue.startsWith("classic") ? "classic" : "quorum";
            if (args[1].equals("fill")) {
                channel.queueDeclare(queue, true, false, false, Map.of("x-queue-type", type));
                channel.basicPublish("", queue, true, MessageProperties.PERSISTENT_BASIC, "order".getBytes());
                System.out.println(queue + " " + channel.waitForConfirms());
                continue;
            }
            var there = CompletableFuture.supplyAsync(() -> {
                try {
                    var message = factory.newConnection().createChannel().basicGet(queue, false);
                    return message == null ? "nothing" : new String(message.getBody());
                } catch (Exception error) {
                    return error.toString();
                }
            });
            try {
                System.out.println(queue + " " + there.get(10, TimeUnit.SECONDS));
            } catch (TimeoutException late) {
                System.out.println(queue + " no answer");
            }
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
# It listens before it answers.
look() { until probe "$port" "$@" | paste -sd, | grep .; do sleep 1; done; }
seen "confirmed" "classic-old true,quorum-old true" "$(look fill classic-old quorum-old)"
sleep 5
seen "confirmed" "classic-young true,quorum-young true" "$(look fill classic-young quorum-young)"
kill_broker
start_broker rabbitmq
all="classic-old order,quorum-old order,classic-young order,quorum-young no answer"
seen "after the kill" "$all" "$(look get classic-old quorum-old classic-young quorum-young)"
kill "$broker" && wait "$broker" || true
start_broker rabbitmq
seen "after a clean restart" "$all" "$(look get classic-old quorum-old classic-young quorum-young)"
verdict
