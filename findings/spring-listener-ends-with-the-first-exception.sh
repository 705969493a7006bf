#!/usr/bin/env bash
# Spring's StreamMessageListenerContainer hands the entries of a stream to a listener.
# Guess: an exception of the listener goes to the error handler, that entry stays pending, and
# the next ones come, as with listeners of JMS, Kafka and AMQP.
# Seen with Spring Boot 3.5.16 on Redis 7.0.15: the first exception ends the subscription for good. What was read together
# with the entry is handed to nobody and stays pending, what comes later is not read, and the container says that it
# is running. With cancelOnError(error -> false), which receive() can't say, the rest comes.
. "$(dirname "$0")/common.sh"
start redis-7.0
java_program org.springframework.boot:spring-boot-starter-data-redis:3.5.16 <<'JAVA'
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.stream.StreamListener;
import org.springframework.data.redis.stream.StreamMessageListenerContainer;
import org.springframework.data.redis.stream.StreamMessageListenerContainer.StreamReadRequest;
import org.springframework.data.redis.stream.Subscription;

public class Probe {
    public static void main(String[] args) throws Exception {
        var factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(args[0]));
        factory.afterPropertiesSet();
        factory.start();
        var streams = new StringRedisTemplate(factory).opsForStream();
        String stream = args[1];
        for (int i = 1; i <= 4; i++) streams.add(stream, Map.of("id", "" + i));
        streams.createGroup(stream, ReadOffset.from("0"), "group");
        List<String> seen = Collections.synchronizedList(new ArrayList<>());
        StreamListener<String, MapRecord<String, String, String>> listener = record -> {
            seen.add(record.getValue().get("id"));
            if (seen.size() == 2) throw new IllegalStateException("this one can't be stored");
        };
        var container = StreamMessageListenerContainer.create(factory);
        container.start();
        Consumer me = Consumer.from("group", "me");
        StreamOffset<String> unread = StreamOffset.create(stream, ReadOffset.lastConsumed());
        Subscription subscription = stream.equals("default")
                ? container.receive(me, unread, listener)
                : container.register(StreamReadRequest.builder(unread).consumer(me).autoAcknowledge(false)
                        .cancelOnError(error -> false).build(), listener);
        Thread.sleep(3_000);
        streams.add(stream, Map.of("id", "5"));
        Thread.sleep(3_000);
        System.out.println(String.join(" ", seen) + ", subscription " + subscription.isActive()
                + ", container " + container.isRunning()
                + ", pending " + streams.pending(stream, "group").getTotalPendingMessages());
        System.exit(0);
    }
}
JAVA
look() { probe "$port" "$1" | grep subscription; }
seen "by receive()" "1 2, subscription false, container true, pending 4" "$(look default)"
seen "with cancelOnError" "1 2 3 4 5, subscription true, container true, pending 5" "$(look never)"
verdict
