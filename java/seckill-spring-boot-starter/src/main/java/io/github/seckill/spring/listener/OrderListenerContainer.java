package io.github.seckill.spring.listener;

import io.github.seckill.spring.listener.OrderStreams.Kind;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;

/** Runs the methods with {@link SeckillOrderListener} for as long as the application runs. */
public final class OrderListenerContainer implements SmartLifecycle {
    private static final Logger LOG = LoggerFactory.getLogger(OrderListenerContainer.class);

    private final OrderListenerPostProcessor listeners;
    private final RedisConnectionFactory connections;
    private final OrderListenerOptions options;
    private final OrderFailurePolicy policy;
    private final OrderListenerObserver observer;
    private final Map<OrderListenerLoop, Thread> running = new LinkedHashMap<>();

    /**
     * Makes a container that is to be started.
     *
     * @param listeners knows the methods
     * @param connections makes a connection for every thread
     * @param options how to read
     * @param policy decides on entries that fail
     * @param observer is notified of what happens
     */
    public OrderListenerContainer(
            OrderListenerPostProcessor listeners,
            RedisConnectionFactory connections,
            OrderListenerOptions options,
            OrderFailurePolicy policy,
            OrderListenerObserver observer) {
        this.listeners = listeners;
        this.connections = connections;
        this.options = options;
        this.policy = policy;
        this.observer = observer;
    }

    @Override
    public synchronized void start() {
        if (!running.isEmpty()) {
            return;
        }
        List<String> tags = options.tags().isEmpty() ? List.of("") : options.tags();
        String process = process();
        listeners
                .groups()
                .forEach(
                        (group, methods) -> {
                            for (String tag : tags) {
                                OrderStreams streams =
                                        OrderStreams.named(options.stream(), tag);
                                for (int i = 1; i <= options.concurrency(); i++) {
                                    launch(group, process + "-" + i, streams, methods);
                                }
                            }
                        });
    }

    /** Two processes with one name would take each other's entries. */
    private static String process() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            host = "unknown";
        }
        return String.join(
                "-",
                host,
                String.valueOf(ProcessHandle.current().pid()),
                UUID.randomUUID().toString().substring(0, 8));
    }

    private void launch(
            String group,
            String name,
            OrderStreams streams,
            Map<Kind, OrderListenerMethod> methods) {
        Map<String, Kind> kinds = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            if (methods.containsKey(kind)) {
                kinds.put(streams.name(kind), kind);
            }
        }
        EntryDecoder decoder = new EntryDecoder(options.fields());
        OrderListenerLoop loop =
                new OrderListenerLoop(
                        connections::getConnection,
                        group,
                        name,
                        kinds,
                        new EntryHandler(methods, decoder, policy, observer),
                        options.settings(),
                        observer);
        Thread thread = new Thread(loop, "seckill-" + group + "-" + (running.size() + 1));
        running.put(loop, thread);
        thread.start();
    }

    /** Waits until every listener has returned from the entry in hand. */
    @Override
    public synchronized void stop() {
        running.keySet().forEach(OrderListenerLoop::stop);
        long deadline = System.nanoTime() + options.shutdownWithin().toNanos();
        List<Thread> late = new ArrayList<>();
        for (Thread thread : running.values()) {
            if (!hasEnded(thread, deadline)) {
                late.add(thread);
            }
        }
        for (Thread thread : late) {
            LOG.warn("{} does not return and is interrupted, its entry is pending", thread);
            thread.interrupt();
        }
        running.clear();
    }

    private static boolean hasEnded(Thread thread, long deadlineNanos) {
        try {
            long left = Math.max(1, deadlineNanos - System.nanoTime());
            thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(left)));
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        return !thread.isAlive();
    }

    @Override
    public synchronized boolean isRunning() {
        return !running.isEmpty();
    }

    /**
     * How containers read.
     *
     * @param stream the server's {@code seckill.order-stream}
     * @param fields the server's {@code seckill.order-fields}
     * @param tags the hash tags whose streams are read, without braces; empty where there are none
     * @param concurrency threads per group and hash tag
     * @param batch entries that are read at once
     * @param poll how long a read waits for new entries
     * @param claimAfter when entries that another consumer has left are taken over
     * @param retryFirst when an entry that failed is handed over again
     * @param retryMost the longest time between two tries
     * @param shutdownWithin how long the end of the application waits for the entry in hand
     */
    public record OrderListenerOptions(
            String stream,
            String fields,
            List<String> tags,
            int concurrency,
            int batch,
            Duration poll,
            Duration claimAfter,
            Duration retryFirst,
            Duration retryMost,
            Duration shutdownWithin) {
        /**
         * Copies what could be changed and refuses what is out of range.
         *
         * @param stream the server's {@code seckill.order-stream}
         * @param fields the server's {@code seckill.order-fields}
         * @param tags the hash tags whose streams are read, without braces; empty where there are
         *     none
         * @param concurrency threads per group and hash tag
         * @param batch entries that are read at once
         * @param poll how long a read waits for new entries
         * @param claimAfter when entries that another consumer has left are taken over
         * @param retryFirst when an entry that failed is handed over again
         * @param retryMost the longest time between two tries
         * @param shutdownWithin how long the end of the application waits for the entry in hand
         */
        public OrderListenerOptions {
            tags = List.copyOf(tags);
            if (concurrency < 1 || batch < 1) {
                throw new IllegalArgumentException("concurrency and batch must be at least 1");
            }
            for (Duration time : List.of(poll, claimAfter, retryFirst, retryMost)) {
                if (time.toMillis() < 1) {
                    throw new IllegalArgumentException("must be at least 1 ms: " + time);
                }
            }
        }

        ListenerSettings settings() {
            return new ListenerSettings(batch, poll, claimAfter, retryFirst, retryMost);
        }
    }
}
