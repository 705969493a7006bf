package io.github.seckill.spring.boot;

import io.github.seckill.client.Outcome;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillObserver;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;

/** Counts what a client does. The meters of every outcome are there from the start. */
final class MicrometerObserver implements SeckillObserver {
    private final MeterRegistry registry;
    private final boolean voucherTag;
    private final Map<Outcome, Timer> tries = new EnumMap<>(Outcome.class);
    private final DistributionSummary batches;
    private final Counter remembered;
    private final Counter repeated;

    MicrometerObserver(MeterRegistry registry, boolean voucherTag) {
        this.registry = registry;
        this.voucherTag = voucherTag;
        if (!voucherTag) {
            for (Outcome outcome : Outcome.values()) {
                tries.put(outcome, timer(outcome).register(registry));
            }
        }
        this.batches = DistributionSummary.builder("seckill.batch")
                .description("Tries that were sent together").baseUnit("tries").register(registry);
        this.remembered = Counter.builder("seckill.remembered")
                .description("Tries answered sold out without the network").register(registry);
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
    public void rememberedSoldOut() {
        remembered.increment();
    }

    @Override
    public void repeated() {
        repeated.increment();
    }
}
