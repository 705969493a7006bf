package shop;

import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.core.MessageDeliveryMode;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory.ConfirmType;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;

/** Sends entries to RabbitMQ; acknowledges what it confirms and a queue takes: docs/brokers.md */
public final class RabbitBridge {
    public static void main(String[] args) throws Exception {
        // spring.rabbitmq.publisher-confirm-type: correlated, publisher-returns: true,
        // template.mandatory: true
        CachingConnectionFactory factory = new CachingConnectionFactory(URI.create(args[0]));
        factory.setPublisherConfirmType(ConfirmType.CORRELATED);
        factory.setPublisherReturns(true);
        RabbitTemplate rabbit = new RabbitTemplate(factory);
        rabbit.setMandatory(true);
        Streams streams = new Streams(System.getenv("REDIS_URL"));
        while (true) {
            try {
                // While the broker is away nothing is read.
                rabbit.execute(channel -> channel.isOpen());
                send(rabbit, streams, streams.next());
            } catch (Exception error) {
                System.err.println(error);
                Thread.sleep(1_000);
                streams.createGroups();
            }
        }
    }

    private static void send(RabbitTemplate rabbit, Streams streams, List<Streams.Entry> batch)
            throws Exception {
        List<CorrelationData> confirms = new ArrayList<>();
        for (Streams.Entry entry : batch) {
            CorrelationData confirm = new CorrelationData(entry.stream + " " + entry.id);
            rabbit.send("", entry.stream, MessageBuilder.withBody(entry.json.getBytes("UTF-8"))
                    .setContentType("application/json").setMessageId(entry.id)
                    .setDeliveryMode(MessageDeliveryMode.PERSISTENT).build(), confirm);
            confirms.add(confirm);
        }
        List<Streams.Entry> confirmed = new ArrayList<>();
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        for (int at = 0; at < batch.size(); at++) {
            CorrelationData confirm = confirms.get(at);
            boolean taken = false;
            try {
                long left = until - System.nanoTime();
                taken = confirm.getFuture().get(left, TimeUnit.NANOSECONDS).isAck();
            } catch (TimeoutException late) {
                // its confirm, if it comes, is of nobody
            }
            // What no queue takes is returned, and then confirmed. Boot 2.3: getReturnedMessage().
            if (taken && confirm.getReturned() == null) {
                confirmed.add(batch.get(at));
            } else {
                System.err.println(confirm.getId() + " stays pending: " + confirm.getReturned());
            }
        }
        streams.acknowledge(confirmed);
    }
}
