package io.github.seckill.spring;

import java.time.Duration;
import java.util.*;

/** Remembers which entries have failed in this process, and since when; for one thread. */
final class FailureLog {
    /** Beyond this many entries the oldest are forgotten, and so given up later, if at all. */
    private static final int ENTRIES_MAX = 10_000;

    private final Map<String, Failing> failing = new LinkedHashMap<>();
    /** Different orders that have failed since one was handled last. */
    private final Set<String> failedInARow = new HashSet<>();
    /** How many entries were handled, by their stream. */
    private final Map<String, Long> handled = new HashMap<>();

    /**
     * How an entry has failed.
     *
     * @param othersHandled whether others of its stream were handled since the failure before
     */
    record Failures(long count, Duration time, boolean othersHandled) {}

    private record Failing(long firstNanos, long handledBefore, long count) {}

    /** @param isOrder else it says nothing of the method or of its database */
    Failures failed(String stream, String id, long nowNanos, boolean isOrder) {
        String key = stream + ' ' + id;
        if (isOrder && failedInARow.size() < ENTRIES_MAX) {
            failedInARow.add(key);
        }
        long handledNow = handled.getOrDefault(stream, 0L);
        Failing before = failing.get(key);
        Failing now = before == null
                ? new Failing(nowNanos, handledNow, 1)
                : new Failing(before.firstNanos, handledNow, before.count + 1);
        failing.put(key, now);
        if (failing.size() > ENTRIES_MAX) {
            failing.remove(failing.keySet().iterator().next());
        }
        return new Failures(
                now.count, Duration.ofNanos(nowNanos - now.firstNanos),
                before != null && handledNow > before.handledBefore);
    }

    void handled(String stream, String id) {
        handled.merge(stream, 1L, Long::sum);
        failedInARow.clear();
        forget(stream, id);
    }

    void forget(String stream, String id) {
        failing.remove(stream + ' ' + id);
    }

    /** How many different orders have failed since one was handled last. */
    int failedInARow() {
        return failedInARow.size();
    }
}
