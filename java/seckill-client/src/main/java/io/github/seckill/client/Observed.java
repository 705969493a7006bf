package io.github.seckill.client;

import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Work that observers are told of, and that is done once and answered, whatever one of them throws.
 *
 * @param broken is told what an observer has thrown
 */
public record Observed(
        Observation observation, ObservationRegistry registry, Consumer<Throwable> broken) {
    /** Starts the observation that is made so. */
    public static Observed start(
            ObservationRegistry registry, Supplier<Observation> made, Consumer<Throwable> broken) {
        Observation observation = Observation.NOOP;
        try {
            observation = made.get();
        } catch (Throwable failed) {
            broken.accept(failed);
        }
        Observed observed = new Observed(observation, registry, broken);
        observed.tell(Observation::start);
        return observed;
    }

    public void tell(Consumer<Observation> call) {
        try {
            call.accept(observation);
        } catch (Throwable failed) {
            broken.accept(failed);
        }
    }

    /** Works in the scope of the observation, and leaves the thread in the one that it was in. */
    public <T> T scoped(Supplier<T> work) {
        Observation.Scope outer = registry.getCurrentObservationScope();
        tell(Observation::openScope);
        Observation.Scope opened = registry.getCurrentObservationScope();
        try {
            return work.get();
        } finally {
            if (opened != null && opened != outer) {
                tell(scope -> opened.close());
            }
            registry.setCurrentObservationScope(outer); // Where an observer has kept it from that.
        }
    }
}
