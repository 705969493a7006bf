package shop;

import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** A batch is read by this thread while another is sent by the one that runs `forward`. */
abstract class Bridge extends Thread {
    /** How many batches may wait to be sent. While the broker is away no more are read. */
    private static final int AHEAD = 3;
    private final BlockingQueue<List<Entry>> batches = new ArrayBlockingQueue<>(AHEAD);
    final Streams streams = new Streams(System.getenv("REDIS_URL"));

    /** Fails while the broker is away. */
    abstract void connect() throws Exception;

    /** Returns what the broker has confirmed. */
    abstract List<Entry> send(List<Entry> batch) throws Exception;

    @Override public void run() {
        try {
            while (true) {
                try {
                    List<Entry> batch = streams.next();
                    if (!batch.isEmpty()) batches.put(batch);
                } catch (RuntimeException error) { // the server is down, or a group is missing
                    System.err.println(error);
                    Thread.sleep(1_000);
                    streams.createGroups();
                }
            }
        } catch (InterruptedException stopped) { }
    }

    /** Sends a batch, as soon as the broker is there, and acknowledges what it confirms. */
    int forward() throws InterruptedException {
        List<Entry> batch = batches.take();
        while (true) {
            try {
                connect();
                break;
            } catch (Exception away) {
                System.err.println(away);
                Thread.sleep(1_000);
            }
        }
        try {
            streams.acknowledge(send(batch));
        } catch (Exception error) { // the batch stays pending
            System.err.println(error);
        }
        return batch.size();
    }
}
