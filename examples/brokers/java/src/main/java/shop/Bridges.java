package shop;

import io.lettuce.core.RedisClient;
import java.net.URI;
import java.util.*;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.serialization.StringSerializer;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory.ConfirmType;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;

/** Starts a bridge for each of the three streams, with the templates of a shop. */
final class Bridges {
    static final List<String> STREAMS =
            Arrays.asList("stream.orders", "stream.orders.confirmed", "stream.orders.released");

    /** Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server. */
    public static void main(String[] args) {
        RedisClient redis = RedisClient.create(System.getenv("REDIS_URL"));
        if (args[0].equals("kafka")) {
            KafkaBridge bridge = new KafkaBridge(redis, kafka(args[1]));
            STREAMS.forEach(bridge::start);
        } else {
            RabbitBridge bridge = new RabbitBridge(redis, rabbit(args[1]));
            STREAMS.forEach(bridge::start);
        }
    }

    static RabbitTemplate rabbit(String url) {
        CachingConnectionFactory factory = new CachingConnectionFactory(URI.create(url));
        factory.setPublisherConfirmType(ConfirmType.CORRELATED);
        factory.setPublisherReturns(true);
        RabbitTemplate rabbit = new RabbitTemplate(factory);
        rabbit.setMandatory(true);
        return rabbit;
    }

    static KafkaTemplate<String, byte[]> kafka(String addresses) {
        Map<String, Object> settings = new HashMap<>();
        settings.put(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, addresses);
        settings.put(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, StringSerializer.class);
        settings.put(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class);
        settings.put(ProducerConfig.ACKS_CONFIG, "all");
        settings.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, true);
        settings.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, 5_000);
        settings.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, 10_000);
        settings.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, 10_000);
        return new KafkaTemplate<>(new DefaultKafkaProducerFactory<>(settings));
    }
}
