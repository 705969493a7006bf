package io.github.seckill.spring;

import io.micrometer.observation.ObservationRegistry;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.SmartInitializingSingleton;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.context.SmartLifecycle;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.scheduling.concurrent.CustomizableThreadFactory;

/**
 * Runs the methods with {@link SeckillOrderListener} for as long as the application runs. It is not
 * built on the {@code StreamMessageListenerContainer} of Spring Data, which hands over what {@code
 * XREADGROUP} reads and does nothing else of what is done here.
 */
public final class OrderListenerContainer implements SmartLifecycle, SmartInitializingSingleton {
    private static final Logger LOG = LoggerFactory.getLogger(OrderListenerContainer.class);

    /** How often consumers are looked at that may be stuck. */
    private static final long GUARD_MS = 250;

    private final ConfigurableListableBeanFactory beans;
    private final Supplier<LettuceConnectionFactory> connections;
    private final SeckillProperties.Listener options;
    private final OrderFailurePolicy policy;
    private final ObservationRegistry observations;
    private final List<OrderListenerLoop> running = new CopyOnWriteArrayList<>();
    private volatile boolean isOn;
    private final ThreadFactory threads = new CustomizableThreadFactory("seckill-listener-");
    private ScheduledExecutorService guard = Executors.newSingleThreadScheduledExecutor();
    private @Nullable Map<String, OrderListenerMethod.Group> found;

    OrderListenerContainer(
            ConfigurableListableBeanFactory beans, Supplier<LettuceConnectionFactory> connections,
            SeckillProperties.Listener options, OrderFailurePolicy policy) {
        this.beans = beans;
        this.connections = connections;
        this.options = options;
        this.policy = policy;
        this.observations = beans.getBeanProvider(ObservationRegistry.class)
                .getIfUnique(() -> ObservationRegistry.NOOP);
    }

    /** What can't work is refused before anything starts. */
    @Override
    public void afterSingletonsInstantiated() {
        found().values().forEach(group -> {
            connections.get();
            options.of(group);
            group.isStarted();
            policy(group);
        });
    }

    @Override
    public synchronized void start() {
        if (isOn || found().isEmpty()) {
            return;
        }
        guard = Executors.newSingleThreadScheduledExecutor(
                new CustomizableThreadFactory("seckill-listener-guard-"));
        guard.scheduleWithFixedDelay(
                () -> running.forEach(OrderListenerLoop::handBackIfStuck), GUARD_MS, GUARD_MS,
                TimeUnit.MILLISECONDS);
        isOn = true;
        found().forEach((name, group) -> {
            if (group.isStarted()) {
                start(name);
            }
        });
    }

    private synchronized Map<String, OrderListenerMethod.Group> found() {
        Map<String, OrderListenerMethod.Group> present = found;
        if (present == null) {
            present = OrderListenerMethod.of(beans);
            found = present;
        }
        return present;
    }

    /** Starts the consumers of a group, of a container that runs, unless they run. */
    public synchronized void start(String group) {
        if (!isOn) {
            throw new IllegalStateException("the container of the listeners does not run");
        }
        OrderListenerMethod.Group listeners = present(group);
        if (running(group).findAny().isPresent()) {
            return;
        }
        SeckillProperties.Listener own = options.of(listeners);
        String process = process();
        for (String tag : options.tags().isEmpty() ? Set.of("") : options.tags()) {
            for (int i = 1; i <= own.concurrency(); i++) {
                launch(group, process + "-" + i, tag, listeners, own);
            }
        }
    }

    /**
     * Ends the consumers of a group, and waits until each has returned from the entry in flight;
     * but for the one whose method calls this, which ends when that returns.
     */
    public void stop(String group) {
        List<OrderListenerLoop> ending;
        synchronized (this) {
            present(group);
            ending = running(group).toList();
        }
        if (!end(ending)) {
            LOG.warn("Consumers of the group {} have not ended: their methods go on", group);
        }
    }

    /** Outside the monitor, since a method that is waited for may want it. False if one goes on. */
    private boolean end(List<OrderListenerLoop> ending) {
        ending.forEach(OrderListenerLoop::stop);
        long end = System.nanoTime() + options.shutdownWithin().toNanos();
        boolean all = true;
        for (OrderListenerLoop loop : ending) {
            all &= loop.awaitEnd(end - System.nanoTime());
        }
        return all;
    }

    /** The consumers of a group that were not told to stop. */
    private Stream<OrderListenerLoop> running(String group) {
        return running.stream().filter(loop -> loop.group().equals(group) && loop.isRunning());
    }

    private OrderListenerMethod.Group present(String group) {
        OrderListenerMethod.Group present = found().get(group);
        if (present == null) {
            throw new IllegalArgumentException("there is no listener of the group " + group);
        }
        return present;
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

    private Map<String, Kind> streams(Map<Kind, OrderListenerMethod> methods, String tag) {
        Map<String, Kind> streams = new LinkedHashMap<>();
        for (Kind kind : Kind.values()) {
            if (methods.containsKey(kind)) {
                streams.putIfAbsent(kind.stream(options.stream(), tag), kind);
            }
        }
        return streams;
    }

    private void launch(
            String group, String name, String tag, OrderListenerMethod.Group listeners,
            SeckillProperties.Listener own) {
        Map<String, Kind> streams = streams(listeners.methods(), tag);
        EntryHandler handler = new EntryHandler(
                listeners.methods(), new EntryDecoder(own.fields()), policy(listeners),
                observations, new FailureLog());
        LettuceConnectionFactory factory = connections.get();
        // A read that waits for longer than the connection does would end as a failure, and one of
        // no time would wait for ever, as a connection of no time-out does.
        long patience = factory.getTimeout() > 0 ? factory.getTimeout() : Long.MAX_VALUE;
        Duration most = Duration.ofMillis(Math.max(1, patience / 2));
        OrderListenerLoop loop = new OrderListenerLoop(
                () -> GroupConsumer.connect(factory), group, name, streams, handler, own,
                own.poll().compareTo(most) < 0 ? own.poll() : most);
        running.add(loop);
        threads.newThread(() -> {
            loop.run();
            running.remove(loop);
        }).start();
    }

    private OrderFailurePolicy policy(OrderListenerMethod.Group group) {
        String named = group.said().get("policy");
        return named == null ? policy : beans.getBean(named, OrderFailurePolicy.class);
    }

    /** The groups that have listeners. */
    public synchronized Set<String> groups() {
        return Set.copyOf(found().keySet());
    }

    /** How many consumers of a group can read entries now. */
    public long reading(String group) {
        return running(group).filter(loop -> loop.failure() == null).count();
    }

    /** How many consumers of a group fail at everything, so that they read no new entries. */
    public long intakeStopped(String group) {
        return running(group).filter(OrderListenerLoop::isIntakeStopped).count();
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

    /**
     * Waits until every listener has returned from the entry in flight. What a method that does not
     * return keeps from being handled is handed back meanwhile.
     */
    @Override
    public void stop() {
        List<OrderListenerLoop> ending;
        ScheduledExecutorService watches;
        synchronized (this) {
            isOn = false;
            ending = List.copyOf(running);
            watches = guard;
        }
        boolean ended = end(ending);
        watches.shutdownNow();
        if (!ended) {
            LOG.warn(
                    "Listeners have not ended within {} s and are interrupted: a method has not"
                            + " returned, or the server does not answer. What they have read and"
                            + " not acknowledged is pending",
                    options.shutdownWithin().toSeconds());
            ending.forEach(OrderListenerLoop::interrupt);
        }
    }

    @Override
    public boolean isRunning() {
        return isOn;
    }
}
