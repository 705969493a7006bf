package shop;

import io.lettuce.core.StreamMessage;
import io.lettuce.core.XReadArgs.StreamOffset;
import io.lettuce.core.api.async.RedisAsyncCommands;
import io.lettuce.core.api.sync.RedisCommands;
import java.util.*;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The same messages in turn: by the broker's client alone, a batch at a time, which waits for its
 * confirms; by as many workers as the bridge has; and by the bridge. The first rounds, which warm
 * all up, are not counted.
 */
final class Speed {
    private static final int ORDERS = 20_000, ROUNDS = 20, WARM = 3;
    private static final String STREAM = "stream.orders";
    private static final String[] WAYS =
            {"alone, a batch at a time", "alone, by as many workers", "bridge"};
    private static final RedisCommands<String, String> REDIS = Bridge.REDIS.connect().sync();
    private static final RedisAsyncCommands<String, String> FILL = Bridge.REDIS.connect().async();

    /** Arguments: rabbitmq or kafka, and its address. */
    public static void main(String[] args) throws Exception {
        Bridge bridge = args[0].equals("kafka")
                ? new KafkaBridge(args[1]) : new RabbitBridge(args[1]);
        bridge.connect();
        double[][][] samples = new double[WAYS.length][2][ROUNDS]; // messages/s, ratios
        for (int round = 0; round < WARM + ROUNDS; round++) {
            double[] perSecond = new double[WAYS.length];
            for (int turn = 0; turn < WAYS.length; turn++) {
                int way = (round + turn) % WAYS.length;
                List<StreamMessage<String, String>> entries = fill();
                if (bridge instanceof RabbitBridge) {
                    ((RabbitBridge) bridge).rabbit.execute(channel -> channel.queuePurge(STREAM));
                }
                List<Thread> threads = new ArrayList<>();
                long start = System.nanoTime();
                if (way < 2) alone(bridge, entries, way == 0 ? 1 : Bridge.WORKERS, threads);
                else bridged(bridge, threads);
                perSecond[way] = ORDERS * 1e9 / (System.nanoTime() - start);
                REDIS.flushall(); // ends the workers' reads
                for (Thread thread : threads) thread.interrupt();
                for (Thread thread : threads) thread.join();
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

    private static List<StreamMessage<String, String>> fill() throws Exception {
        REDIS.flushall();
        List<Future<?>> ids = new ArrayList<>();
        List<StreamMessage<String, String>> entries = new ArrayList<>();
        for (int order = 0; order < ORDERS; order++) {
            Map<String, String> fields = new HashMap<>();
            fields.put("userId", "" + order);
            fields.put("voucherId", "7");
            fields.put("id", "" + (90071992547000L + order));
            fields.put("sale", "1795344856123456");
            ids.add(FILL.xadd(STREAM, fields));
            entries.add(new StreamMessage<>(STREAM, "1795344856123-" + order, fields));
        }
        for (Future<?> id : ids) id.get();
        REDIS.xgroupCreate(StreamOffset.from(STREAM, "0"), Bridge.GROUP);
        return entries;
    }

    private static void start(Runnable work, List<Thread> threads) {
        threads.add(new Thread(work));
        threads.get(threads.size() - 1).start();
    }

    private static void alone(
            Bridge bridge, List<StreamMessage<String, String>> entries, int workers,
            List<Thread> threads) throws Exception {
        Queue<List<StreamMessage<String, String>>> batches = new LinkedBlockingQueue<>();
        for (int at = 0; at < ORDERS; at += Bridge.MOST) {
            batches.add(entries.subList(at, at + Bridge.MOST));
        }
        AtomicLong sent = new AtomicLong();
        for (int worker = 0; worker < workers; worker++) {
            start(() -> {
                try {
                    while (true) sent.addAndGet(bridge.send(STREAM, batches.remove()).size());
                } catch (NoSuchElementException end) {
                    // all are sent
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }, threads);
        }
        for (Thread thread : threads) thread.join();
        if (sent.get() != ORDERS) throw new Exception("not confirmed");
    }

    private static void bridged(Bridge bridge, List<Thread> threads) throws Exception {
        for (int worker = 0; worker < Bridge.WORKERS; worker++) {
            start(() -> bridge.work(STREAM), threads);
        }
        for (String group = ""; !group.contains("pending, 0,") || !group.contains("lag, 0]"); ) {
            Thread.sleep(2);
            group = REDIS.xinfoGroups(STREAM).toString();
        }
    }

    private static String quarters(String format, double[] sample) {
        Arrays.sort(sample);
        return String.format(format + " (" + format + " to " + format + ")", sample[ROUNDS / 2],
                sample[ROUNDS / 4], sample[ROUNDS * 3 / 4]);
    }
}
