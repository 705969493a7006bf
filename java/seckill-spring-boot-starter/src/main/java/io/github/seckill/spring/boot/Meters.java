package io.github.seckill.spring.boot;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillObserver;
import io.github.seckill.spring.listener.OrderListenerObserver;
import io.github.seckill.spring.listener.StreamEntry;
import io.micrometer.core.instrument.*;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;

final class Meters {
    private Meters() {}

    /** Counts what a client does. The meters of every outcome are there from the start. */
    static final class OfClient implements SeckillObserver {
        private final MeterRegistry registry;
        private final boolean voucherTag;
        private final Map<Outcome, Timer> tries = new EnumMap<>(Outcome.class);
        private final DistributionSummary batches;
        private final Counter repeated;

        OfClient(MeterRegistry registry, boolean voucherTag) {
            this.registry = registry;
            this.voucherTag = voucherTag;
            if (!voucherTag) {
                for (Outcome outcome : Outcome.values()) {
                    tries.put(outcome, timer(outcome).register(registry));
                }
            }
            this.batches = DistributionSummary.builder("seckill.batch")
                    .description("Tries that were sent together").baseUnit("tries")
                    .register(registry);
            this.repeated = Counter.builder("seckill.repeated")
                    .description("Commands that were sent again").register(registry);
        }

        private static Timer.Builder timer(Outcome outcome) {
            return Timer.builder("seckill.tries")
                    .description("Tries, from the call to the outcome")
                    .tag("outcome", outcome.name().toLowerCase(Locale.ROOT));
        }

        @Override
        public void tried(String voucher, Outcome outcome, Duration time) {
            Timer known = tries.get(outcome);
            if (known == null || voucherTag) {
                known = timer(outcome).tag("voucher", voucher).register(registry);
            }
            known.record(time);
        }

        @Override
        public void failed(String voucher, SeckillException mistake) {
            Counter.builder("seckill.mistakes")
                    .description("Tries that ended in a mistake").tag("code", mistake.word())
                    .register(registry).increment();
        }

        @Override
        public void sent(int size) {
            batches.record(size);
        }

        @Override
        public void repeated() {
            repeated.increment();
        }
    }

    static final class OfListeners implements OrderListenerObserver {
        private final MeterRegistry registry;
        /** Consumers of each group that read nothing new at the moment. */
        private final Map<String, AtomicInteger> stopped = new ConcurrentHashMap<>();
        private final Map<String, AtomicInteger> reading = new ConcurrentHashMap<>();

        OfListeners(MeterRegistry registry) {
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
            stopped.computeIfAbsent(group, this::stopped).addAndGet(isStopped ? 1 : -1);
        }

        @Override
        public void consumers(String group, int now, int all) {
            reading.computeIfAbsent(group, name -> gauge(
                    "seckill.listener.reading", "Consumers that read entries", name)).set(now);
        }

        private AtomicInteger stopped(String group) {
            return gauge(
                    "seckill.listener.intake.stopped",
                    "Consumers that fail at everything and read nothing new", group);
        }

        private AtomicInteger gauge(String name, String description, String group) {
            AtomicInteger consumers = new AtomicInteger();
            Gauge.builder(name, consumers, AtomicInteger::get).description(description)
                    .tag("group", group).register(registry);
            return consumers;
        }
    }
}
