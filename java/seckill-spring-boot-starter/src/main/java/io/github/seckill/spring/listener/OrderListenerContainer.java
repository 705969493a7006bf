package io.github.seckill.spring.listener;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Function;
import java.util.function.Supplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.data.redis.connection.RedisConnectionFactory;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Runs the methods with {@link SeckillOrderListener} for as long as the application runs.
 *
 * <p>It is not built on the {@code StreamMessageListenerContainer} of Spring Data, which hands over
 * what {@code XREADGROUP} reads and does nothing else: it makes no group, claims no pending entry,
 * counts no deliveries, hands over a whole batch even when others have claimed the rest of it, goes
 * on reading while the database is down, asks a server that is down again without a pause, and has
 * a thread and a connection for each of the three streams. All of that would stand around it, with
 * the reading, which is one call here, inside.
 */
public final class OrderListenerContainer implements SmartLifecycle, SmartInitializingSingleton {
    private static final Logger LOG = LoggerFactory.getLogger(OrderListenerContainer.class);

    /** How often consumers are looked at that may be stuck. */
    private static final long GUARD_MS = 250;

    private final ConfigurableListableBeanFactory beans;
    private final Supplier<RedisConnectionFactory> connections;
    private final OrderListenerOptions options;
    private final Function<RedisConnectionFactory, Duration> pollMost;
    private final OrderFailurePolicy policy;
    private final OrderListenerObserver observer;
    private final List<OrderListenerLoop> running = new CopyOnWriteArrayList<>();
    private ExecutorService threads = Executors.newCachedThreadPool();
    private ScheduledExecutorService guard = Executors.newSingleThreadScheduledExecutor();
    private Map<String, Map<Kind, OrderListenerMethod>> groups = Map.of();

    public OrderListenerContainer(
            ConfigurableListableBeanFactory beans, Supplier<RedisConnectionFactory> connections,
            OrderListenerOptions options, Function<RedisConnectionFactory, Duration> pollMost,
            OrderFailurePolicy policy, OrderListenerObserver observer) {
        this.beans = beans;
        this.connections = connections;
        this.options = options;
        this.pollMost = pollMost;
        this.policy = policy;
        this.observer = observer;
    }

    @Override
    public synchronized void afterSingletonsInstantiated() {
        groups = OrderListenerMethod.of(beans);
        if (!groups.isEmpty()) {
            connections.get(); // Where there is a choice to be made, nothing starts without it.
        }
        Set<Kind> taken = EnumSet.noneOf(Kind.class);
        groups.values().forEach(listeners -> taken.addAll(listeners.keySet()));
        if (taken.contains(Kind.CONFIRMED) && !taken.contains(Kind.REFUND)) {
            LOG.warn(
                    "No listener here takes PaymentToRefund: late and second payments are left to"
                            + " another application");
        }
    }

    @Override
    public synchronized void start() {
        if (isRunning()) {
            return;
        }
        String process = process();
        threads = Executors.newCachedThreadPool(new CustomizableThreadFactory("seckill-listener-"));
        guard = Executors.newSingleThreadScheduledExecutor(
                new CustomizableThreadFactory("seckill-listener-guard-"));
        guard.scheduleWithFixedDelay(
                () -> running.forEach(OrderListenerLoop::handBackIfStuck), GUARD_MS, GUARD_MS,
                TimeUnit.MILLISECONDS);
        long dead = options.claimAfter().toMillis() * OrderListenerLoop.DEAD_CLAIMS;
        guard.scheduleWithFixedDelay(this::deleteDeadConsumers, options.claimAfter().toMillis(), dead,
                TimeUnit.MILLISECONDS);
        groups.forEach((group, methods) -> {
            for (String tag : tags()) {
                for (int i = 1; i <= options.concurrency(); i++) {
                    launch(group, process + "-" + i, tag, methods);
                }
            }
        });
    }

    /** One consumer of each group and hash tag does it for all. */
    private void deleteDeadConsumers() {
        Set<String> done = new HashSet<>();
        for (OrderListenerLoop loop : running) {
            if (loop.failure() == null && done.add(loop.group() + ' ' + loop.streams())) {
                loop.deleteDeadConsumers();
            }
        }
    }

    /** Two processes with one name would take each other's entries. */
    private static String process() {
        String host;
        try {
            host = InetAddress.getLocalHost().getHostName();
        } catch (UnknownHostException unnamed) {
            host = "unknown";
        }
        String random = UUID.randomUUID().toString().substring(0, 8);
        return host + "-" + ProcessHandle.current().pid() + "-" + random;
    }

    private List<String> tags() {
        return options.tags().isEmpty() ? List.of("") : options.tags();
    }

    private Map<String, Kind> streams(Map<Kind, OrderListenerMethod> methods, String tag) {
        Map<String, Kind> streams = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            if (methods.containsKey(kind)) {
                streams.putIfAbsent(kind.stream(options.stream(), tag), kind);
            }
        }
        return streams;
    }

    /** The streams that are read, those of all groups and hash tags. */
    public synchronized Set<String> streams() {
        Set<String> streams = new TreeSet<>();
        groups.values().forEach(methods -> tags().forEach(tag ->
                streams.addAll(streams(methods, tag).keySet())));
        return streams;
    }

    private void launch(
            String group, String name, String tag, Map<Kind, OrderListenerMethod> methods) {
        Map<String, Kind> streams = streams(methods, tag);
        EntryHandler handler = new EntryHandler(
                methods, new EntryDecoder(options.fields()), policy, observer, new FailureLog());
        RedisConnectionFactory factory = connections.get();
        // A read that waits for longer than the connection does would end as a failure.
        Duration most = pollMost.apply(factory);
        OrderListenerLoop loop = new OrderListenerLoop(
                () -> GroupConsumer.connect(factory), group, name, streams, handler, options,
                options.poll().compareTo(most) < 0 ? options.poll() : most,
                () -> tellConsumers(group, handler));
        running.add(loop);
        tellConsumers(group, handler);
        threads.execute(loop);
    }

    private void tellConsumers(String group, EntryHandler handler) {
        synchronized (running) {
            List<OrderListenerLoop> all =
                    running.stream().filter(loop -> loop.group().equals(group)).toList();
            int reading = (int) all.stream().filter(loop -> loop.failure() == null).count();
            handler.tell(told -> told.consumers(group, reading, all.size()));
        }
    }

    /** The groups of which a consumer reads nothing at the moment, and why. It tries again. */
    public Map<String, String> failures() {
        Map<String, String> failures = new LinkedHashMap<>();
        for (OrderListenerLoop loop : running) {
            String failure = loop.failure();
            if (failure != null && !failure.equals(OrderListenerLoop.STARTING)) {
                failures.putIfAbsent(loop.group(), failure);
            }
        }
        return failures;
    }

    /** Waits until every listener has returned from the entry in hand. */
    @Override
    public synchronized void stop() {
        guard.shutdownNow();
        running.forEach(OrderListenerLoop::stop);
        threads.shutdown();
        try {
            threads.awaitTermination(options.shutdownWithin().toNanos(), TimeUnit.NANOSECONDS);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
        if (!threads.isTerminated()) {
            LOG.warn(
                    "Listeners have not ended within {} s and are interrupted: a method has not"
                            + " returned, or the server does not answer. What they have read and"
                            + " not acknowledged is pending",
                    options.shutdownWithin().toSeconds());
            threads.shutdownNow();
        }
        running.clear();
    }

    @Override
    public synchronized boolean isRunning() {
        return !running.isEmpty();
    }
}
