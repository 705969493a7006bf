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
public final class RabbitBridge extends Bridge {
    final RabbitTemplate rabbit;

    RabbitBridge(String address) {
        // spring.rabbitmq.publisher-confirm-type: correlated, publisher-returns: true,
        // template.mandatory: true
        CachingConnectionFactory factory = new CachingConnectionFactory(URI.create(address));
        factory.setPublisherConfirmType(ConfirmType.CORRELATED);
        factory.setPublisherReturns(true);
        rabbit = new RabbitTemplate(factory);
        rabbit.setMandatory(true);
    }

    public static void main(String[] args) throws Exception {
        RabbitBridge bridge = new RabbitBridge(args[0]);
        bridge.start();
        while (true) bridge.forward();
    }

    @Override void connect() { rabbit.execute(channel -> channel.isOpen()); }

    @Override List<Entry> send(List<Entry> batch) throws Exception {
        List<CorrelationData> confirms = new ArrayList<>();
        for (Entry entry : batch) {
            CorrelationData confirm = new CorrelationData(entry.stream + " " + entry.id);
            rabbit.send("", entry.stream, MessageBuilder.withBody(entry.json())
                    .setContentType("application/json").setMessageId(entry.id)
                    .setDeliveryMode(MessageDeliveryMode.PERSISTENT).build(), confirm);
            confirms.add(confirm);
        }
        List<Entry> confirmed = new ArrayList<>();
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
        return confirmed;
    }
}
