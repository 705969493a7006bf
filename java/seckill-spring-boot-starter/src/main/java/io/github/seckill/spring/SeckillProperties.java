package io.github.seckill.spring;

import io.github.seckill.client.LockOptions;
import io.github.seckill.client.SeckillOptions;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * How the client, the listeners and the locks behave.
 *
 * @param enabled Whether there is a client at all
 * @param connectionFactory The bean by which the server with the module is reached, if there are
 *     several
 * @param commandTimeout How long an answer is waited for before a command counts as unanswered
 * @param retryFor How long a command without an answer that is safe to repeat is sent again
 * @param coalescing Whether tries that come at the same time travel together
 * @param listener How methods with SeckillOrderListener are served
 * @param lock How locks behave
 */
@ConfigurationProperties("seckill")
record SeckillProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String connectionFactory,
        @DefaultValue("1s") Duration commandTimeout,
        @DefaultValue("5s") Duration retryFor,
        @DefaultValue("true") boolean coalescing,
        @DefaultValue Listener listener,
        @DefaultValue Lock lock) {
    /**
     * How locks behave, unless the application says otherwise for one.
     *
     * @param prefix What comes before the key in the names of the lock registry's locks
     * @param lease How long a lock is held at most without being renewed
     * @param renew Whether a held lock is renewed
     * @param session Whether a lock is released at once when its holder's connection closes
     * @param fenced Whether a lock has a fencing token
     */
    record Lock(
            @DefaultValue("lock:") String prefix,
            @DefaultValue("30s") Duration lease,
            @DefaultValue("true") boolean renew,
            @DefaultValue("true") boolean session,
            @DefaultValue("true") boolean fenced) {}

    /**
     * How methods with SeckillOrderListener are served.
     *
     * @param enabled Whether they are served
     * @param group The consumer group of listeners that name none; else spring.application.name
     * @param stream The server's seckill.order-stream
     * @param fields The server's seckill.order-fields
     * @param tags Hash tags whose streams are read, without braces; needed in a cluster
     * @param concurrency Threads per group and hash tag
     * @param batch Entries that are read at once
     * @param poll How long a read waits for new entries
     * @param claimAfter When entries that another consumer has left are taken over
     * @param retryFirst When an entry that failed is handed over again; each time is twice as long
     *     as the one before
     * @param retryMost The longest time until an entry that failed is handed over again
     * @param shutdownWithin How long the end of the application waits for the entry in flight
     */
    record Listener(
            @DefaultValue("true") boolean enabled,
            @Nullable String group,
            @DefaultValue("stream.orders") String stream,
            @DefaultValue("userId voucherId id") String fields,
            @DefaultValue Set<String> tags,
            @DefaultValue("1") int concurrency,
            @DefaultValue("100") int batch,
            @DefaultValue("1s") Duration poll,
            @DefaultValue("60s") Duration claimAfter,
            @DefaultValue("1s") Duration retryFirst,
            @DefaultValue("60s") Duration retryMost,
            @DefaultValue("20s") Duration shutdownWithin) {
        private static final Duration TIME_MAX = SeckillOptions.TIME_MAX;

        Listener {
            if (concurrency < 1 || batch < 1) {
                throw new IllegalArgumentException("concurrency and batch must be at least 1");
            }
            if (tags.stream().anyMatch(tag -> tag.isEmpty() || tag.contains("{"))) {
                throw new IllegalArgumentException("tags are named without braces: " + tags);
            }
            for (Duration time : List.of(poll, claimAfter, retryFirst, retryMost)) {
                within(time, Duration.ofMillis(1));
            }
            within(shutdownWithin, shutdownWithin);
        }

        private static void within(Duration time, Duration least) {
            if (time.compareTo(least) < 0 || time.compareTo(TIME_MAX) > 0) {
                throw new IllegalArgumentException(
                        "poll, claim-after, retry-first and retry-most must be from 1 ms to "
                                + TIME_MAX.toDays() + " days, and shutdown-within no longer: "
                                + time);
            }
        }

        /** The same, but for what a group says of itself. */
        Listener of(OrderListenerMethod.Group said) {
            return new Listener(
                    enabled, group, stream, fields, tags,
                    said.option("concurrency", Integer.class, concurrency),
                    said.option("batch", Integer.class, batch), poll,
                    said.option("claimAfter", Duration.class, claimAfter), retryFirst, retryMost,
                    shutdownWithin);
        }

        /** When an entry is due again after so many deliveries. */
        Duration backoff(long deliveries) {
            long doublings = Math.min(Math.max(deliveries - 1, 0), 30);
            Duration next = retryFirst.multipliedBy(1L << doublings);
            return next.compareTo(retryMost) < 0 ? next : retryMost;
        }
    }

    SeckillOptions options() {
        return SeckillOptions.defaults()
                .commandTimeout(commandTimeout).retryFor(retryFor).coalescing(coalescing)
                .lock(new LockOptions(lock.lease, lock.renew, lock.session, lock.fenced));
    }
}
