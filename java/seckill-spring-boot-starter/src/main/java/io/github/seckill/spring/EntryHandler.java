package io.github.seckill.spring;

import io.github.seckill.client.Observed;
import io.github.seckill.client.Printable;
import io.github.seckill.spring.FailureLog.Failures;
import io.github.seckill.spring.OrderEvent.StreamEntry;
import io.github.seckill.spring.OrderFailurePolicy.Decision;
import io.github.seckill.spring.OrderFailurePolicy.OrderFailure;
import io.micrometer.observation.Observation;
import io.micrometer.observation.ObservationRegistry;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.data.redis.connection.stream.ByteRecord;

/** Hands entries to the listeners of a group and processes the results; for one thread. */
record EntryHandler(
        Map<Kind, OrderListenerMethod> listeners, EntryDecoder decoder, OrderFailurePolicy policy,
        ObservationRegistry observations, FailureLog failures) {
    private static final int REASON_LENGTH_MAX = 500;
    private static final Logger LOG = LoggerFactory.getLogger(EntryHandler.class);

    /**
     * Hands an entry over, if one of the listeners takes it; false if it failed. Throws only
     * what the server or the connection to it is to blame for.
     */
    boolean handle(
            GroupConsumer consumer, String stream, Kind kind, ByteRecord record, long deliveries) {
        StreamEntry entry =
                new StreamEntry(stream, consumer.group(), record.getId().getValue(), deliveries);
        OrderEvent event;
        try {
            event = decoder.decode(kind, entry, record.getValue());
        } catch (EntryDecoder.Malformed malformed) {
            return observed(entry, "malformed", observed -> {
                observed.tell(observation -> observation.error(malformed));
                finish(consumer, record, entry, null, malformed, observed);
                return false;
            });
        }
        OrderListenerMethod listener = listeners.get(Kind.of(event));
        if (listener == null) {
            return true; // The stream has also what no listener of this group takes.
        }
        return observed(entry, event.kind(), observed -> {
            observed.observation().highCardinalityKeyValue("key", event.idempotencyKey());
            Throwable thrown = call(listener, event);
            if (thrown == null) {
                failures.handled(stream, entry.id());
            } else {
                observed.tell(observation -> observation.error(thrown));
                finish(consumer, record, entry, event, thrown, observed);
            }
            return thrown == null;
        });
    }

    private boolean observed(StreamEntry entry, String kind, Predicate<Observed> work) {
        Observed observed = Observed.start(
                observations,
                () -> Observation.createNotStarted("seckill.listener", observations)
                        .lowCardinalityKeyValue("group", entry.group())
                        .lowCardinalityKeyValue("kind", kind),
                broken -> LOG.error("An observer has failed: {}", Printable.trace(broken)));
        try {
            return observed.scoped(() -> work.test(observed));
        } finally {
            observed.tell(Observation::stop);
        }
    }

    private @Nullable Throwable call(OrderListenerMethod listener, OrderEvent event) {
        try {
            listener.handle(event);
            return null;
        } catch (Throwable thrown) {
            return thrown;
        } finally {
            // An interrupt ends this call at most: the end of the thread is told in another way.
            Thread.interrupted();
        }
    }

    private void finish(
            GroupConsumer consumer, ByteRecord record, StreamEntry entry,
            @Nullable OrderEvent event, Throwable cause, Observed observed) {
        Failures failed = failures.failed(
                entry.stream(), entry.id(), System.nanoTime(), event != null);
        OrderFailure failure = new OrderFailure(
                event, entry, EntryDecoder.readable(record.getValue()), cause,
                failed.count(), failed.time());
        LOG.warn(
                "Entry {} of {} failed and stays pending: {}", entry.id(), entry.stream(),
                Printable.why(cause));
        LOG.atDebug().addArgument(entry.id()).addArgument(entry.stream())
                .addArgument(() -> Printable.trace(cause)).log("Entry {} of {} failed: {}");
        if (failed.othersHandled() && giveUp(consumer, record, failure, observed)) {
            failures.forget(entry.stream(), entry.id());
        }
    }

    private boolean giveUp(
            GroupConsumer consumer, ByteRecord record, OrderFailure failure, Observed observed) {
        Decision decision = decide(failure);
        boolean reject = decision == Decision.REJECT_IF_UNSOLD;
        String reason = reason(failure.cause());
        boolean left = switch (decision) {
            case RETRY -> false;
            case DEAD_LETTER -> consumer.bury(failure.entry(), record, reason);
            case REJECT_IF_UNSOLD -> failure.event() instanceof OrderEvent.OrderPlaced
                    && consumer.rejectUnsold(failure.entry(), reason);
        };
        if (left) {
            Observation.Event event = Observation.Event.of(reject ? "rejected" : "dead.letter");
            observed.tell(observation -> observation.event(event));
            LOG.error(
                    "Entry {} of {} is a dead letter, {}", failure.entry().id(),
                    failure.entry().stream(),
                    reject ? "its order is rejected" : "nothing is released");
        }
        return left;
    }

    private Decision decide(OrderFailure failure) {
        try {
            return Objects.requireNonNull(policy.decide(failure), "decision");
        } catch (Throwable failed) {
            String trace = Printable.trace(failed);
            LOG.error("The policy of failures has failed: the entry is retried: {}", trace);
            return Decision.RETRY;
        }
    }

    private static String reason(Throwable cause) {
        String reason = Printable.said(cause);
        return reason.substring(0, Math.min(reason.length(), REASON_LENGTH_MAX));
    }
}
