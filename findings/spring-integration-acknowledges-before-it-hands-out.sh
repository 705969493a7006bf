#!/usr/bin/env bash
# Spring Integration's ReactiveRedisStreamMessageProducer reads four entries of a stream as a consumer of a group, with its defaults, so
# it acknowledges by itself. The process ends while the first entry is handled.
# Guess: an entry is acknowledged when its handler has returned, so that four are pending, or three.
# Seen with Spring Integration 6.5.3 (of Spring Boot 3.5.7): none is. It reads with NOACK: for Redis all that is read is done with. The three
# that no handler has seen are delivered to nobody any more. With setAutoAck(false), and the acknowledgment of the message's header,
# four are pending.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program org.springframework.integration:spring-integration-redis:6.5.3 io.lettuce:lettuce-core:6.6.0.RELEASE <<'JAVA'
import java.util.Map;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.integration.channel.DirectChannel;
import org.springframework.integration.config.EnableIntegration;
import org.springframework.integration.redis.inbound.ReactiveRedisStreamMessageProducer;

public class Probe {
    @Configuration
    @EnableIntegration
    static class Shop {}

    public static void main(String[] args) throws Exception {
        var factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(args[0]));
        factory.afterPropertiesSet();
        factory.start();
        String stream = args[1];
        var streams = new StringRedisTemplate(factory).opsForStream();
        for (int i = 1; i <= 4; i++) streams.add(stream, Map.of("id", "" + i));
        streams.createGroup(stream, ReadOffset.from("0"), "group");
        var out = new DirectChannel();
        out.subscribe(message -> {
            System.out.println("handling " + message.getPayload());
            Runtime.getRuntime().halt(0);
        });
        var context = new AnnotationConfigApplicationContext();
        context.register(Shop.class);
        context.registerBean("in", ReactiveRedisStreamMessageProducer.class, () -> {
            var reader = new ReactiveRedisStreamMessageProducer(factory, stream);
            reader.setConsumerGroup("group");
            reader.setConsumerName("me");
            reader.setOutputChannel(out);
            if (stream.equals("own")) reader.setAutoAck(false);
            return reader;
        });
        context.refresh();
        context.getBean(ReactiveRedisStreamMessageProducer.class).start();
        Thread.sleep(60_000);
    }
}
JAVA
for stream in default own; do
    probe "$port" $stream | grep -q "handling {id=1}" || seen "what is handled, $stream" "{id=1}" ""
done
pending() { say XINFO GROUPS "$1" | grep -oE 'pending [0-9]+'; }
seen "by default" "pending 0" "$(pending default)"
seen "with setAutoAck(false)" "pending 4" "$(pending own)"
verdict
