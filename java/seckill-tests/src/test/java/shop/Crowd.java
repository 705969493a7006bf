package shop;

import static java.util.concurrent.CompletableFuture.runAsync;
import static shop.Until.await;

import io.github.seckill.client.*;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;

/** Threads that buy voucher 7 until they are stopped, whatever happens to the servers. */
final class Crowd {
    private static final int THREADS = 8;

    private final SeckillClient client;
    private final AtomicInteger users = new AtomicInteger();
    private final AtomicBoolean over = new AtomicBoolean();
    private final Map<Outcome, Integer> told = new ConcurrentHashMap<>();
    private final Queue<String> orders = new ConcurrentLinkedQueue<>();
    private final List<CompletableFuture<Void>> threads = new ArrayList<>();

    Crowd(SeckillClient client) {
        this.client = client;
        for (int i = 0; i < THREADS; i++) {
            threads.add(runAsync(this::buy, work -> new Thread(work).start()));
        }
        awaitMore(20 * THREADS);
    }

    private void buy() {
        while (!over.get()) {
            String order = "o" + users.incrementAndGet();
            told.merge(client.tryBuy("7", order, order).outcome(), 1, Integer::sum);
            orders.add(order);
        }
    }

    /** Waits for so many more, each of which was sent after this was called. */
    List<String> awaitMore(int count) {
        int before = orders.size() + THREADS;
        await("bought").until(() -> orders.size() > before + count
                || threads.stream().anyMatch(CompletableFuture::isCompletedExceptionally));
        return orders.stream().skip(before).toList();
    }

    /** What all of them were told; throws what one was told that was no outcome. */
    Map<Outcome, Integer> stop() {
        over.set(true);
        threads.forEach(CompletableFuture::join);
        return told;
    }
}
