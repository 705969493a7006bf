package shop;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.StatefulRedisConnection;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;

/**
 * The same messages by the broker's client alone, in batches that wait for their confirms, and by
 * the bridge from the stream, in turn. The first rounds, which warm all up, are not counted.
 */
final class Speed {
    private static final int ORDERS = 20_000, ROUNDS = 20, WARM = 3, SIZE = 500;
    private static final String STREAM = "stream.orders", GROUP = "broker";
    private static final StatefulRedisConnection<String, String> CONNECTION =
            RedisClient.create(System.getenv("REDIS_URL")).connect();
    private static final RedisCommands<String, String> REDIS = CONNECTION.sync();
    private static final RedisAsyncCommands<String, String> FILL = CONNECTION.async();

    /** Arguments: rabbitmq or kafka, and its address. */
    public static void main(String[] args) throws Exception {
        Bridge bridge = args[0].equals("kafka")
                ? new KafkaBridge(args[1]) : new RabbitBridge(args[1]);
        bridge.connect();
        List<Double> ratios = new ArrayList<>();
        List<Double> alone = new ArrayList<>();
        List<Double> bridged = new ArrayList<>();
        for (int round = 0; round < WARM + ROUNDS; round++) {
            List<Entry> entries = fill(bridge.streams);
            double[] perSecond = new double[2];
            for (int turn = 0; turn < 2; turn++) {
                if (bridge instanceof RabbitBridge) {
                    ((RabbitBridge) bridge).rabbit.execute(channel -> channel.queuePurge(STREAM));
                }
                int which = (round + turn) % 2;
                long start = System.nanoTime();
                Thread reader = new Thread(bridge);
                if (which == 0) alone(bridge, entries); else bridged(bridge, reader);
                perSecond[which] = ORDERS * 1e9 / (System.nanoTime() - start);
                reader.interrupt();
                if (which == 1) Thread.sleep(1_500); // until its last read is over, too
            }
            if (round < WARM) continue;
            alone.add(perSecond[0]);
            bridged.add(perSecond[1]);
            ratios.add(perSecond[1] / perSecond[0]);
        }
        System.out.printf("%s, Java: alone %s messages/s, by the bridge %s; ratio %s%n", args[0],
                quarters("%.0f", alone), quarters("%.0f", bridged), quarters("%.2f", ratios));
        System.exit(0);
    }

    private static List<Entry> fill(Streams streams) throws Exception {
        REDIS.flushall();
        List<Future<?>> ids = new ArrayList<>();
        List<Entry> entries = new ArrayList<>();
        for (int order = 0; order < ORDERS; order++) {
            Map<String, String> fields = new HashMap<>();
            fields.put("userId", "" + order);
            fields.put("voucherId", "7");
            fields.put("id", "" + (90071992547000L + order));
            fields.put("sale", "1795344856123456");
            ids.add(FILL.xadd(STREAM, fields));
            entries.add(new Entry(STREAM, "1795344856123-" + order, fields));
        }
        for (Future<?> id : ids) id.get();
        streams.createGroups();
        return entries;
    }

    private static void alone(Bridge bridge, List<Entry> entries) throws Exception {
        for (int at = 0; at < ORDERS; at += SIZE) {
            List<Entry> batch = entries.subList(at, at + SIZE);
            if (bridge.send(batch).size() != SIZE) throw new Exception("not confirmed");
        }
    }

    private static void bridged(Bridge bridge, Thread reader) throws Exception {
        reader.start();
        for (int sent = 0; sent < ORDERS; ) sent += bridge.forward();
        while (REDIS.xpending(STREAM, GROUP).getCount() > 0) Thread.sleep(1);
    }

    private static String quarters(String format, List<Double> sample) {
        Collections.sort(sample);
        return String.format(format + " (" + format + " to " + format + ")", sample.get(ROUNDS / 2),
                sample.get(ROUNDS / 4), sample.get(ROUNDS * 3 / 4));
    }
}
