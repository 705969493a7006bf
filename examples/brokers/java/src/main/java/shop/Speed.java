package shop;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.lettuce.core.RedisClient;
import io.lettuce.core.ScriptOutputType;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.*;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import org.springframework.amqp.core.MessageBuilder;
import org.springframework.amqp.rabbit.connection.CorrelationData;
import org.springframework.amqp.rabbit.core.RabbitTemplate;
import org.springframework.kafka.core.KafkaTemplate;

/**
 * The same messages in turn: by the broker's client alone, a batch at a time, which waits for its
 * confirms; by as many workers as the bridge has; and by the bridge, which waits for its stream
 * meanwhile. The first rounds, which warm all up, are not counted.
 */
final class Speed {
    private static final int ORDERS = 20_000, MOST = 1_000, WORKERS = 3, ROUNDS = 20, WARM = 3;
    private static final String STREAM = "stream.orders";
    private static final String[] WAYS =
            {"alone, a batch at a time", "alone, by as many workers", "bridge"};
    private static final String FILL = "for order = 0, ARGV[1] - 1 do redis.call('XADD', KEYS[1],"
            + " '*', 'userId', order, 'voucherId', '7', 'id', string.format('%.0f',"
            + " 90071992547000 + order), 'sale', '1795344856123456') end";
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Sends a batch, and adds its confirms. */
    private interface Client {
        void send(List<Map<String, String>> batch, List<Future<?>> confirms);
    }

    /** Arguments: rabbitmq or kafka, and its address. REDIS_URL names the server. */
    public static void main(String[] args) throws Exception {
        RedisClient client = RedisClient.create(System.getenv("REDIS_URL"));
        RedisCommands<String, String> redis = client.connect().sync();
        redis.flushall();
        RabbitTemplate rabbit = args[0].equals("kafka") ? null : Bridges.rabbit(args[1]);
        KafkaTemplate<String, byte[]> kafka = rabbit == null ? Bridges.kafka(args[1]) : null;
        if (rabbit == null) new KafkaBridge(client, kafka).start(STREAM);
        else new RabbitBridge(client, rabbit).start(STREAM);
        Client alone = rabbit == null
                ? (batch, confirms) -> batch.forEach(fields -> confirms.add(
                        kafka.send(STREAM, fields.get("id"), json(fields))))
                : (batch, confirms) -> rabbit.invoke(channel -> {
                    for (Map<String, String> fields : batch) {
                        CorrelationData confirm = new CorrelationData(fields.get("id"));
                        channel.send("", STREAM, MessageBuilder.withBody(json(fields))
                                .setContentType("application/json")
                                .setMessageId(fields.get("id")).build(), confirm);
                        confirms.add(confirm.getFuture());
                    }
                    return null;
                });
        double[][][] samples = new double[WAYS.length][2][ROUNDS]; // messages/s, ratios
        for (int round = 0; round < WARM + ROUNDS; round++) {
            double[] perSecond = new double[WAYS.length];
            for (int turn = 0; turn < WAYS.length; turn++) {
                int way = (round + turn) % WAYS.length;
                if (rabbit != null) rabbit.execute(channel -> channel.queuePurge(STREAM));
                redis.xtrim(STREAM, 0);
                if (way == 2) {
                    redis.eval(FILL, ScriptOutputType.STATUS, new String[] {STREAM}, "" + ORDERS);
                }
                long start = System.nanoTime();
                if (way < 2) alone(alone, way == 0 ? 1 : WORKERS);
                else bridged(redis);
                perSecond[way] = ORDERS * 1e9 / (System.nanoTime() - start);
            }
            for (int way = 0; way < WAYS.length && round >= WARM; way++) {
                samples[way][0][round - WARM] = perSecond[way];
                samples[way][1][round - WARM] = perSecond[2] / perSecond[way];
            }
        }
        for (int way = 0; way < WAYS.length; way++) {
            System.out.printf("%s, Java, %s: %s messages/s; %s the bridge's ratio to it%n",
                    args[0], WAYS[way],
                    quarters("%.0f", samples[way][0]), quarters("%.2f", samples[way][1]));
        }
        System.exit(0);
    }

    private static void alone(Client client, int workers) throws Exception {
        Queue<Integer> batches = new LinkedBlockingQueue<>();
        for (int first = 0; first < ORDERS; first += MOST) batches.add(first);
        List<Thread> threads = new ArrayList<>();
        for (int worker = 0; worker < workers; worker++) {
            Thread thread = new Thread(() -> {
                try {
                    for (Integer first; (first = batches.poll()) != null; ) batch(client, first);
                } catch (Exception error) {
                    error.printStackTrace();
                    System.exit(1);
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) thread.join();
    }

    private static void batch(Client client, int first) throws Exception {
        List<Map<String, String>> batch = new ArrayList<>();
        for (int order = first; order < first + MOST; order++) {
            Map<String, String> fields = new HashMap<>();
            fields.put("userId", "" + order);
            fields.put("voucherId", "7");
            fields.put("id", "" + (90071992547000L + order));
            fields.put("sale", "1795344856123456");
            batch.add(fields);
        }
        List<Future<?>> confirms = new ArrayList<>();
        client.send(batch, confirms);
        for (Future<?> confirm : confirms) confirm.get();
    }

    private static byte[] json(Map<String, String> fields) {
        try {
            return JSON.writeValueAsBytes(fields);
        } catch (java.io.IOException never) {
            throw new IllegalStateException(never);
        }
    }

    private static void bridged(RedisCommands<String, String> redis) throws Exception {
        for (String group = ""; !group.contains("pending, 0,") || !group.contains("lag, 0]"); ) {
            Thread.sleep(5);
            group = redis.xinfoGroups(STREAM).toString();
        }
    }

    private static String quarters(String format, double[] sample) {
        Arrays.sort(sample);
        return String.format(format + " (" + format + " to " + format + ")", sample[ROUNDS / 2],
                sample[ROUNDS / 4], sample[ROUNDS * 3 / 4]);
    }
}
