package io.github.seckill.spring.listener;

import java.time.Duration;

/**
 * How containers read.
 *
 * @param batch entries that are read at once
 * @param poll how long a read waits for new entries
 * @param claimAfter when entries that another consumer has left are taken over
 * @param retryFirst when an entry that failed is handed over again
 * @param retryMost the longest time between two tries: each is twice as long as the one before
 */
record ListenerSettings(
        int batch, Duration poll, Duration claimAfter, Duration retryFirst, Duration retryMost) {
    /** When an entry is due again after so many deliveries. */
    Duration backoff(long deliveries) {
        long doublings = Math.min(Math.max(deliveries - 1, 0), 30);
        Duration next = retryFirst.multipliedBy(1L << doublings);
        return next.compareTo(retryMost) < 0 ? next : retryMost;
    }
}
