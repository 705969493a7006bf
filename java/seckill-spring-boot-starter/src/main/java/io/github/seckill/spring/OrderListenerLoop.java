package io.github.seckill.spring;

import io.github.seckill.client.Printable;
import io.github.seckill.spring.GroupConsumer.Pending;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.RedisConnection;
import org.springframework.data.redis.connection.stream.*;

/**
 * One consumer of a group, in a thread: reads what is new, and from time to time what is pending.
 * An entry is acknowledged soon after its listener has returned; one that failed stays pending on
 * the server, which also remembers when it is due again.
 */
final class OrderListenerLoop implements Runnable {
    /** When so many entries fail and none is handled, new ones are read but now and then. */
    private static final int FAILURES_MAX = 8;
    private static final Duration PROBE_EVERY = Duration.ofSeconds(10);
    private static final Duration PAUSE_FIRST = Duration.ofMillis(100);
    private static final Duration RECONNECT_MOST = Duration.ofSeconds(5);
    private static final int PENDING_PAGE = 256;

    /** A consumer that has asked for nothing for so many times the claim-after has ended. */
    private static final int DEAD_CLAIMS = 10;

    /** When what was read with an entry is handed back whose method has not returned. */
    private static final long STUCK_NANOS = TimeUnit.SECONDS.toNanos(1);
    static final String STARTING = "starting";
    private static final String BEFORE_ALL = "0-0";
    /** Entries whose listeners return within this time are acknowledged by one command. */
    private static final long ACKNOWLEDGE_MS_MOST = 50;

    /** What comes this soon after an entry is read by one command, and wakes nobody. */
    private static final Duration GATHER = Duration.ofMillis(5);

    private static final Logger LOG = LoggerFactory.getLogger(OrderListenerLoop.class);

    private final Supplier<RedisConnection> connections;
    private final String group;
    private final String name;
    private final Map<String, Kind> streams;
    private final EntryHandler handler;
    private final SeckillProperties.Listener options;
    private final Duration poll;
    private final long acknowledgeMs;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final CountDownLatch ended = new CountDownLatch(1);
    /** Behind which id the next look at pending entries begins, of each stream. */
    private final Map<String, String> pendingBehind = new HashMap<>();
    /** What was read and is not begun. Whoever takes an entry out of it has to do with it. */
    private final Queue<Read> read = new ConcurrentLinkedQueue<>();
    /** What was handled and is not acknowledged yet, of each stream. Guarded by itself. */
    private final Map<String, List<RecordId>> handled = new HashMap<>();
    /** Since when the method runs that handles an entry; null while none does. */
    private volatile @Nullable Long begun;

    private volatile @Nullable Thread thread;
    private long handledNanos;
    private long nextPendingNanos = System.nanoTime();
    private long nextProbeNanos;
    private long nextDeadNanos;
    private volatile boolean intakeStopped;
    private volatile @Nullable String failure = STARTING;

    OrderListenerLoop(
            Supplier<RedisConnection> connections, String group, String name,
            Map<String, Kind> streams, EntryHandler handler, SeckillProperties.Listener options,
            Duration poll) {
        this.connections = connections;
        this.group = group;
        this.name = name;
        this.streams = streams;
        this.handler = handler;
        this.options = options;
        this.poll = poll;
        this.nextDeadNanos = System.nanoTime() + options.claimAfter().toNanos();
        // Before others take it over.
        this.acknowledgeMs = Math.min(ACKNOWLEDGE_MS_MOST, options.claimAfter().toMillis() / 4);
    }

    /** Ends the loop after the entry in flight. */
    void stop() {
        stopped.countDown();
    }

    /** Interrupts what it waits for, if it has not ended. */
    void interrupt() {
        Thread running = thread;
        if (running != null) {
            running.interrupt();
        }
    }

    /** False if it has not ended by then. Its own method does not wait for itself. */
    boolean awaitEnd(long nanos) {
        try {
            return Thread.currentThread() == thread || ended.await(nanos, TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    @Override
    public void run() {
        thread = Thread.currentThread();
        Duration pause = PAUSE_FIRST;
        while (isRunning()) {
            try (RedisConnection connection = connections.get()) {
                GroupConsumer consumer = new GroupConsumer(connection, group, name);
                streams.keySet().forEach(consumer::createGroup);
                acknowledge(consumer);
                read.clear(); // What is left of before is pending, and claimed when it is due.
                while (isRunning()) {
                    step(consumer);
                    pause = PAUSE_FIRST;
                    failure = null;
                }
                acknowledge(consumer);
                streams.keySet().forEach(stream -> consumer.leave(stream, options.claimAfter()));
            } catch (Throwable failed) {
                // Whatever it is, also an Error: a thread that ends would read nothing for ever.
                if (isRunning()) {
                    failure = Printable.why(failed);
                    LOG.warn("The group {} can't read, and tries again: {}", group, failure);
                    LOG.atDebug().addArgument(group).addArgument(() -> Printable.trace(failed))
                            .log("The group {} can't read: {}");
                    await(pause);
                    Duration twice = pause.multipliedBy(2);
                    pause = twice.compareTo(RECONNECT_MOST) < 0 ? twice : RECONNECT_MOST;
                }
            }
        }
        ended.countDown();
    }

    String group() {
        return group;
    }

    /** Why it reads nothing; null if it does. */
    @Nullable String failure() {
        return failure;
    }

    boolean isIntakeStopped() {
        return intakeStopped;
    }

    boolean isRunning() {
        return stopped.getCount() > 0;
    }

    private void await(Duration time) {
        try {
            stopped.await(time.toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupted) {
            // Whoever wants the end says so by stop().
        }
    }

    private void step(GroupConsumer consumer) {
        acknowledgeIfDue(consumer);
        if (System.nanoTime() - nextPendingNanos >= 0) {
            acknowledge(consumer); // Or it would be pending, and handed over again.
            streams.keySet().forEach(stream -> retry(consumer, stream));
            nextPendingNanos = System.nanoTime() + options.retryFirst().toNanos() / 2;
        }
        if (System.nanoTime() - nextDeadNanos >= 0) {
            deleteDeadConsumers(consumer);
        }
        watchIntake();
        if (!intakeStopped) {
            readNew(consumer, options.batch());
        } else if (System.nanoTime() - nextProbeNanos >= 0) {
            nextProbeNanos = System.nanoTime() + PROBE_EVERY.toNanos();
            readNew(consumer, 1);
        } else {
            await(poll);
        }
    }

    private void watchIntake() {
        boolean stop = handler.failures().failedInARow() >= FAILURES_MAX;
        if (stop != intakeStopped) {
            intakeStopped = stop;
            nextProbeNanos = System.nanoTime() + PROBE_EVERY.toNanos();
            if (stop) {
                LOG.error(
                        "The group {} fails at everything: no new entries are read but one every"
                                + " {} s", group, PROBE_EVERY.toSeconds());
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
        return System.nanoTime() + options.claimAfter().toNanos() / 2;
    }

    private boolean mayHandOver(long untilNanos) {
        return isRunning() && System.nanoTime() - untilNanos < 0;
    }

    private void readNew(GroupConsumer consumer, int count) {
        Duration due = untilAcknowledged();
        Map<String, List<ByteRecord>> found = consumer.readNew(
                new ArrayList<>(streams.keySet()), count, due.compareTo(poll) < 0 ? due : poll);
        long until = handOverUntil();
        streams.keySet().forEach(stream -> found.getOrDefault(stream, List.of())
                .forEach(record -> read.add(new Read(stream, record))));
        for (Read next = read.poll(); next != null; next = read.poll()) {
            if (mayHandOver(until)) {
                handOver(consumer, next.stream(), next.record(), 1);
            }
        }
        int size = found.values().stream().mapToInt(List::size).sum();
        if (size > 0 && size < count / 2) {
            await(GATHER);
        }
    }

    private record Read(String stream, ByteRecord record) {}

    /**
     * Hands back to the group what a method keeps from being handled that has not returned for a
     * while, and acknowledges what was handled before. For another thread than the loop's.
     */
    void handBackIfStuck() {
        Long since = begun;
        if (since == null || System.nanoTime() - since < STUCK_NANOS) {
            return;
        }
        Map<String, List<RecordId>> back = new HashMap<>();
        // No longer ours by then, perhaps: others may have taken over what is as old as that.
        boolean late = System.nanoTime() - since > options.claimAfter().toNanos() / 2;
        for (Read next = read.poll(); next != null && !late; next = read.poll()) {
            back.computeIfAbsent(next.stream(), absent -> new ArrayList<>())
                    .add(next.record().getId());
        }
        if (back.isEmpty() && isAllAcknowledged()) {
            return;
        }
        try (RedisConnection connection = connections.get()) {
            GroupConsumer consumer = new GroupConsumer(connection, group, name);
            acknowledge(consumer);
            back.forEach((stream, ids) -> consumer.handBack(stream, ids, options.claimAfter()));
        } catch (Throwable failed) {
            // Also an Error: who looks goes on. All of it stays pending, and is claimed when due.
            LOG.debug("The group {} can't hand back: {}", group, Printable.why(failed));
        }
    }

    /** Deletes consumers of the group that have ended without leaving it. */
    private void deleteDeadConsumers(GroupConsumer consumer) {
        Duration idle = options.claimAfter().multipliedBy(DEAD_CLAIMS);
        nextDeadNanos = System.nanoTime() + idle.toNanos();
        try {
            streams.keySet().forEach(stream -> consumer.deleteIdle(stream, idle));
        } catch (RuntimeException failed) {
            LOG.debug("Dead consumers of {} stay: {}", group, Printable.why(failed));
        }
    }

    /** For how long a read may wait: at least a millisecond, as 0 would be for ever. */
    private Duration untilAcknowledged() {
        long left = isAllAcknowledged() ? poll.toMillis() : acknowledgeMs
                - TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - handledNanos);
        return Duration.ofMillis(Math.max(1, left));
    }

    private boolean isAllAcknowledged() {
        synchronized (handled) {
            return handled.isEmpty();
        }
    }

    private void handOver(
            GroupConsumer consumer, String stream, ByteRecord record, long deliveries) {
        begun = System.nanoTime();
        try {
            if (!handler.handle(consumer, stream, streams.get(stream), record, deliveries)) {
                return;
            }
        } finally {
            begun = null;
        }
        synchronized (handled) {
            if (handled.isEmpty()) {
                handledNanos = System.nanoTime();
            }
            handled.computeIfAbsent(stream, absent -> new ArrayList<>()).add(record.getId());
        }
        acknowledgeIfDue(consumer);
    }

    private void acknowledgeIfDue(GroupConsumer consumer) {
        if (System.nanoTime() - handledNanos >= TimeUnit.MILLISECONDS.toNanos(acknowledgeMs)) {
            acknowledge(consumer);
        }
    }

    /** What the server does not take is acknowledged later. */
    private void acknowledge(GroupConsumer consumer) {
        Map<String, List<RecordId>> taken;
        synchronized (handled) {
            taken = new HashMap<>(handled);
            handled.clear();
        }
        try {
            taken.forEach(consumer::acknowledge);
        } catch (RuntimeException failed) {
            synchronized (handled) {
                taken.forEach((stream, ids) ->
                        handled.computeIfAbsent(stream, absent -> new ArrayList<>()).addAll(ids));
            }
            throw failed;
        }
    }

    /** Hands over what is due of the next page of pending entries. */
    private void retry(GroupConsumer consumer, String stream) {
        String behind = pendingBehind.getOrDefault(stream, BEFORE_ALL);
        List<Pending> page = consumer.pending(stream, "(" + behind, PENDING_PAGE);
        long until = handOverUntil();
        boolean isLast = page.size() < PENDING_PAGE;
        for (Pending pending : page) {
            if (!mayHandOver(until)) {
                isLast = false;
                break;
            }
            retry(consumer, stream, pending);
            behind = pending.id().getValue();
        }
        pendingBehind.put(stream, isLast ? BEFORE_ALL : behind);
        acknowledge(consumer);
    }

    private void retry(GroupConsumer consumer, String stream, Pending pending) {
        Duration due = options.claimAfter();
        if (name.equals(pending.consumer())) {
            due = options.backoff(pending.deliveries());
        } else if (pending.isReturned() && !pending.idle().isNegative()) {
            due = pending.idle(); // At once, whoever has returned it, unless it was claimed since.
        }
        if (!pending.isReturned() && pending.idle().compareTo(due) < 0) {
            return;
        }
        ByteRecord record = consumer.claim(stream, pending.id(), due);
        if (record == null) {
            handler.failures().forget(stream, pending.id().getValue());
            if (!consumer.has(stream, pending.id())) {
                LOG.error("The entry {} was trimmed from {} before the group {} had handled it",
                        pending.id(), stream, group);
            }
        } else {
            // The server counts no further than the greatest count, which XNACK FATAL sets.
            long before = pending.deliveries();
            handOver(consumer, stream, record, Math.max(before, before + 1));
        }
    }
}
