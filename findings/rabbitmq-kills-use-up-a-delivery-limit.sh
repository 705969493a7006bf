#!/usr/bin/env bash
# RabbitMQ: three messages in a quorum queue with x-delivery-limit 2. A consumer takes two and acknowledges none; the broker is
# killed, starts again, and the consumer takes them again. This is done three times; no message is ever rejected.
# Guess: the limit is about messages that a consumer gives back. After the third kill the two are there, as in a queue without a limit.
# Seen with RabbitMQ 3.10.8: each kill counts as a delivery that failed. After the third both are gone, since the queue
# has no dead-letter exchange; they were persistent and confirmed. The third message, which nobody took, is there and, unlike in a
# classic queue, not marked as redelivered; a transient one is kept as well. RabbitMQ 4 gives each quorum queue a limit of 20.
. "$(dirname "$0")/common.sh"
start_broker rabbitmq
java_program com.rabbitmq:amqp-client:5.37.1 org.slf4j:slf4j-nop:2.0.17 <<'JAVA'
import com.rabbitmq.client.AMQP.BasicProperties;
import com.rabbitmq.client.ConnectionFactory;
import java.util.Map;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new ConnectionFactory();
        factory.setHost("127.0.0.1");
        factory.setPort(Integer.parseInt(args[0]));
        var channel = factory.newConnection().createChannel();
        String queue = args[2];
        if (args[1].equals("fill")) {
            channel.confirmSelect();
            channel.queueDeclare(queue, true, false, false, queue.equals("limited")
                    ? Map.of("x-queue-type", "quorum", "x-delivery-limit", 2) : Map.of("x-queue-type", "quorum"));
            for (String id : new String[] {"1", "2", "transient"}) {
                int mode = id.equals("transient") ? 1 : 2;
                channel.basicPublish("", queue, true, new BasicProperties.Builder().deliveryMode(mode).build(), id.getBytes());
            }
            System.out.println(channel.waitForConfirms() ? "all confirmed" : "refused");
            Thread.sleep(5_000); // a younger queue does not outlive a kill: another finding
            Runtime.getRuntime().halt(0);
        }
        int count = args[1].equals("all") ? 10 : 2;
        for (int i = 0; i < count; i++) {
            var message = channel.basicGet(queue, false);
            if (message == null) break;
            System.out.print(" " + new String(message.getBody()) + (message.getEnvelope().isRedeliver() ? "*" : ""));
        }
        System.out.println();
        Runtime.getRuntime().halt(0);
    }
}
JAVA
# It listens before it answers.
look() { until probe "$port" "$@"; do sleep 1; done; }
for queue in unlimited limited; do seen "$queue" "all confirmed" "$(look fill $queue)"; done
for kill in 1 2 3; do
    for queue in unlimited limited; do look two $queue >>"$folder/taken"; done
    kill_broker
    start_broker rabbitmq
done
seen "taken before the kills" " 1 2, 1 2, 1* 2*, 1* 2*, 1* 2*, 1* 2*" "$(paste -sd, "$folder/taken")"
seen "then, redelivered with *, without a limit" " 1* 2* transient" "$(look all unlimited)"
seen "with a limit of 2" " transient" "$(look all limited)"
verdict
