package shop;

import io.lettuce.core.StreamMessage;
import java.net.URI;
import java.util.*;
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

    public static void main(String[] args) { new RabbitBridge(args[0]).start(); }

    @Override void connect() { rabbit.execute(channel -> channel.isOpen()); }

    @Override List<String> send(String queue, List<StreamMessage<String, String>> entries)
            throws Exception {
        Map<String, CorrelationData> confirms = new LinkedHashMap<>();
        for (StreamMessage<String, String> entry : entries) {
            CorrelationData confirm = new CorrelationData(queue + " " + entry.getId());
            rabbit.send("", queue, MessageBuilder.withBody(JSON.writeValueAsBytes(entry.getBody()))
                    .setContentType("application/json").setMessageId(entry.getId())
                    .setDeliveryMode(MessageDeliveryMode.PERSISTENT).build(), confirm);
            confirms.put(entry.getId(), confirm);
        }
        List<String> confirmed = new ArrayList<>();
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        for (String id : confirms.keySet()) {
            CorrelationData confirm = confirms.get(id);
            boolean taken = false;
            try {
                long left = until - System.nanoTime();
                taken = confirm.getFuture().get(left, TimeUnit.NANOSECONDS).isAck();
            } catch (TimeoutException late) { } // its confirm, if it comes, is of nobody
            // What no queue takes is returned, and then confirmed. Boot 2.3: getReturnedMessage().
            if (taken && confirm.getReturned() == null) confirmed.add(id);
            else System.err.println(confirm.getId() + " stays pending: " + confirm.getReturned());
        }
        return confirmed;
    }
}
