package io.github.seckill.spring.boot;

import io.github.seckill.spring.listener.OrderListenerObserver;
import io.github.seckill.spring.listener.StreamEntry;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

/** Counts what the listeners do. */
final class MicrometerListenerObserver implements OrderListenerObserver {
    private final MeterRegistry registry;
    /** Consumers of each group that read nothing new at the moment. */
    private final Map<String, AtomicInteger> stopped = new ConcurrentHashMap<>();

    MicrometerListenerObserver(MeterRegistry registry) {
        this.registry = registry;
    }

    @Override
    public void handled(StreamEntry entry, String kind, boolean handled, Duration time) {
        Timer.builder("seckill.listener")
                .description("Entries of the streams that listeners were handed")
                .tag("group", entry.group()).tag("kind", kind)
                .tag("result", handled ? "handled" : "failed").register(registry).record(time);
    }

    @Override
    public void deadLetter(StreamEntry entry, boolean released) {
        Counter.builder("seckill.listener.dead.letters")
                .description("Entries that a policy has made dead letters")
                .tag("group", entry.group()).tag("rejected", String.valueOf(released))
                .register(registry).increment();
    }

    @Override
    public void intake(String group, boolean isStopped) {
        stopped.computeIfAbsent(group, this::gauge).addAndGet(isStopped ? 1 : -1);
    }

    private AtomicInteger gauge(String group) {
        AtomicInteger consumers = new AtomicInteger();
        Gauge.builder("seckill.listener.intake.stopped", consumers, AtomicInteger::get)
                .description("Consumers that fail at everything and read nothing new")
                .tag("group", group).register(registry);
        return consumers;
    }
}
