package io.github.seckill.spring.listener;

import io.github.seckill.spring.listener.OrderStreams.Kind;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.stream.ByteRecord;
import org.springframework.data.redis.connection.stream.PendingMessage;

/**
 * One consumer of a group, in a thread: reads what is new, and from time to time what is pending.
 * An entry is acknowledged when its listener has returned; one that failed stays pending on the
 * server, which also remembers when it is due again.
 */
final class OrderListenerLoop implements Runnable {
    /** When so many entries fail and none is handled, new ones are read but now and then. */
    private static final int FAILURES_MAX = 8;
    private static final Duration PROBE_EVERY = Duration.ofSeconds(10);
    private static final Duration RECONNECT_MOST = Duration.ofSeconds(5);
    private static final int PENDING_PAGE = 256;
    private static final String FIRST_ID = "0-0";
    private static final Logger LOG = LoggerFactory.getLogger(OrderListenerLoop.class);

    private final Supplier<RedisConnection> connections;
    private final String group;
    private final String name;
    private final Map<String, Kind> streams;
    private final EntryHandler handler;
    private final ListenerSettings settings;
    private final OrderListenerObserver observer;
    private final CountDownLatch stopped = new CountDownLatch(1);
    /** Where the next look at pending entries begins, of each stream. */
    private final Map<String, String> pendingFrom = new HashMap<>();

    private long nextPendingNanos = System.nanoTime();
    private long nextProbeNanos;
    private boolean intakeStopped;

    OrderListenerLoop(
            Supplier<RedisConnection> connections,
            String group,
            String name,
            Map<String, Kind> streams,
            EntryHandler handler,
            ListenerSettings settings,
            OrderListenerObserver observer) {
        this.connections = connections;
        this.group = group;
        this.name = name;
        this.streams = streams;
        this.handler = handler;
        this.settings = settings;
        this.observer = observer;
    }

    /** Ends the loop after the entry in hand. */
    void stop() {
        stopped.countDown();
    }

    @Override
    public void run() {
        Duration pause = Duration.ofMillis(100);
        while (isRunning()) {
            try (RedisConnection connection = connections.get()) {
                GroupConsumer consumer = new GroupConsumer(connection, group, name);
                streams.keySet().forEach(consumer::createGroup);
                while (isRunning()) {
                    step(consumer);
                    pause = Duration.ofMillis(100);
                }
                streams.keySet().forEach(consumer::leave);
            } catch (RuntimeException failed) {
                if (isRunning()) {
                    LOG.warn("The group {} can't read, and tries again: {}", group, first(failed));
                    LOG.debug("The group {} can't read", group, failed);
                    await(pause);
                    Duration twice = pause.multipliedBy(2);
                    pause = twice.compareTo(RECONNECT_MOST) < 0 ? twice : RECONNECT_MOST;
                }
            }
        }
    }

    private static String first(Throwable failed) {
        return failed.getMessage() == null ? failed.toString() : failed.getMessage();
    }

    private boolean isRunning() {
        return stopped.getCount() > 0;
    }

    private void await(Duration time) {
        try {
            if (stopped.await(time.toNanos(), TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException interrupted) {
            stop();
        }
    }

    private void step(GroupConsumer consumer) {
        if (System.nanoTime() - nextPendingNanos >= 0) {
            streams.forEach((stream, kind) -> retry(consumer, stream, kind));
            nextPendingNanos = System.nanoTime() + settings.retryFirst().toNanos() / 2;
        }
        watchIntake();
        if (!intakeStopped) {
            readNew(consumer, settings.batch(), settings.poll());
        } else if (System.nanoTime() - nextProbeNanos >= 0) {
            nextProbeNanos = System.nanoTime() + PROBE_EVERY.toNanos();
            readNew(consumer, 1, settings.poll());
        } else {
            await(settings.poll());
        }
    }

    private void watchIntake() {
        boolean stop = handler.failedInARow() >= FAILURES_MAX;
        if (stop != intakeStopped) {
            intakeStopped = stop;
            nextProbeNanos = System.nanoTime() + PROBE_EVERY.toNanos();
            observer.intake(group, stop);
            if (stop) {
                LOG.error(
                        "The group {} fails at everything: no new entries are read but one every"
                                + " {} s",
                        group,
                        PROBE_EVERY.toSeconds());
            } else {
                LOG.info("The group {} works again", group);
            }
        }
    }

    /**
     * Others take over what was read so long ago. So entries are handed over for half of that time
     * only; what is left of a page is pending, and is claimed one by one when it is due.
     */
    private long handOverUntil() {
        return System.nanoTime() + settings.claimAfter().toNanos() / 2;
    }

    private boolean mayHandOver(long untilNanos) {
        return isRunning() && System.nanoTime() - untilNanos < 0;
    }

    private void readNew(GroupConsumer consumer, int count, Duration poll) {
        Map<String, List<ByteRecord>> found =
                consumer.readNew(new ArrayList<>(streams.keySet()), count, poll);
        long until = handOverUntil();
        streams.forEach(
                (stream, kind) -> {
                    for (ByteRecord record : found.getOrDefault(stream, List.of())) {
                        if (mayHandOver(until)) {
                            handler.handle(consumer, stream, kind, record, 1);
                        }
                    }
                });
    }

    /** Hands over what is due of the next page of pending entries. */
    private void retry(GroupConsumer consumer, String stream, Kind kind) {
        String from = pendingFrom.getOrDefault(stream, FIRST_ID);
        List<PendingMessage> page = consumer.pending(stream, from, PENDING_PAGE);
        long until = handOverUntil();
        String next =
                page.size() < PENDING_PAGE
                        ? FIRST_ID
                        : EntryIds.next(page.get(page.size() - 1).getIdAsString());
        for (PendingMessage pending : page) {
            if (!mayHandOver(until)) {
                next = pending.getIdAsString();
                break;
            }
            retry(consumer, stream, kind, pending);
        }
        pendingFrom.put(stream, next);
    }

    private void retry(
            GroupConsumer consumer, String stream, Kind kind, PendingMessage pending) {
        Duration due = dueAfter(pending);
        if (pending.getElapsedTimeSinceLastDelivery().compareTo(due) < 0) {
            return;
        }
        ByteRecord record = consumer.claim(stream, pending.getId(), due);
        if (record == null) {
            handler.forget(stream, pending.getIdAsString());
        } else {
            long deliveries = pending.getTotalDeliveryCount() + 1;
            handler.handle(consumer, stream, kind, record, deliveries);
        }
    }

    private Duration dueAfter(PendingMessage pending) {
        return name.equals(pending.getConsumerName())
                ? settings.backoff(pending.getTotalDeliveryCount())
                : settings.claimAfter();
    }
}
