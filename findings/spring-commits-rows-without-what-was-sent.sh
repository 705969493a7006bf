#!/usr/bin/env bash
# A method writes an order's row, and in the same Spring transaction takes a unit of Redis' stock (a RedisTemplate with
# enableTransactionSupport) or sends the order to RabbitMQ (a RabbitTemplate with channelTransacted). What goes to Redis or
# RabbitMQ then fails: the memory is full, the server has become a replica, the exchange is missing, the broker was killed.
# Guess: an exception, whether it comes early enough to roll the row back or only tells that the two differ.
# Seen with Spring Boot 4.1.2 (and 3.5.16: BOOT=3.5.16): the method returns, the row is committed, and the unit was not taken, or the message
# is nowhere. Both are committed after the rows, in afterCompletion(), whose exceptions Spring logs and drops.
. "$(dirname "$0")/common.sh"
start redis-7.0
redis=$port
start_broker rabbitmq
boot=org.springframework.boot:spring-boot-starter version=${BOOT:-4.1.2}
java_program $boot-data-redis:"$version" $boot-amqp:"$version" $boot-jdbc:"$version" com.h2database:h2:2.4.240 <<'JAVA'
import org.h2.jdbcx.JdbcDataSource;
import org.springframework.amqp.rabbit.connection.CachingConnectionFactory;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.support.JdbcTransactionManager;
import org.springframework.transaction.support.TransactionTemplate;

public class Probe {
    static final JdbcDataSource SHOP = new JdbcDataSource();

    static void order(String what, Runnable send) {
        var rows = new JdbcTemplate(SHOP);
        String told = "returned";
        try {
            new TransactionTemplate(new JdbcTransactionManager(SHOP)).executeWithoutResult(status -> {
                rows.update("INSERT INTO orders DEFAULT VALUES");
                send.run();
            });
        } catch (RuntimeException error) {
            told = error.toString();
        }
        String count = rows.queryForObject("SELECT count(*) FROM orders", String.class);
        System.out.println("said " + what + ": " + told + ", rows " + count);
    }

    static StringRedisTemplate redis(String port, boolean takesPart) {
        var factory = new LettuceConnectionFactory("127.0.0.1", Integer.parseInt(port));
        factory.afterPropertiesSet();
        factory.start();
        var redis = new StringRedisTemplate(factory);
        redis.setEnableTransactionSupport(takesPart);
        return redis;
    }

    public static void main(String[] args) throws Exception {
        SHOP.setURL("jdbc:h2:mem:shop;DB_CLOSE_DELAY=-1");
        new JdbcTemplate(SHOP).execute("CREATE TABLE orders (id IDENTITY)");
        var stock = redis(args[0], true).boundValueOps("stock");
        var server = redis(args[0], false).getConnectionFactory().getConnection().serverCommands();
        order("redis", stock::decrement);
        order("full", () -> {
            server.setConfig("maxmemory", "1");
            stock.decrement();
        });
        server.setConfig("maxmemory", "0");
        order("replica", () -> {
            stock.decrement();
            server.replicaOf("127.0.0.1", 1);
        });
        server.replicaOfNoOne();
        System.out.println("said stock: " + stock.get());
        var rabbit = new RabbitTemplate(new CachingConnectionFactory("127.0.0.1", Integer.parseInt(args[1])));
        rabbit.setChannelTransacted(true);
        rabbit.execute(channel -> channel.queueDeclare("orders", true, false, false, null));
        order("rabbit", () -> rabbit.convertAndSend("orders", "a message"));
        order("missing", () -> rabbit.convertAndSend("missing", "orders", "a message"));
        System.out.println("said messages: " + rabbit.execute(channel -> channel.messageCount("orders")));
        ProcessHandle broker = ProcessHandle.of(Long.parseLong(args[2])).get();
        order("killed", () -> {
            rabbit.convertAndSend("orders", "a message");
            broker.destroyForcibly();
            broker.onExit().join();
        });
        Runtime.getRuntime().halt(0);
    }
}
JAVA
redis-cli -p "$redis" SET stock 5 >/dev/null
# The shell would say that the broker was killed.
{ probe "$redis" "$port" "$broker" | grep -o "said .*" | cut -c6- >"$folder/said"; wait "$broker"; } 2>/dev/null || true
told() { grep "^$1:" "$folder/said" | cut -d' ' -f2-; }
seen "with Redis" "returned, rows 1" "$(told redis)"
seen "with Redis whose memory is full" "returned, rows 2" "$(told full)"
seen "with Redis that has become a replica" "returned, rows 3" "$(told replica)"
seen "the stock, of 5, after three orders" 4 "$(told stock)"
seen "with RabbitMQ" "returned, rows 4" "$(told rabbit)"
seen "with RabbitMQ without the exchange" "returned, rows 5" "$(told missing)"
seen "messages, after two orders" 1 "$(told messages)"
seen "with RabbitMQ that was killed" "returned, rows 6" "$(told killed)"
verdict
