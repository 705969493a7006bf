package io.github.seckill.spring.listener;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.convert.DurationStyle;

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
 * @param retryFirst When an entry that failed is handed over again; each time is twice as long as
 *     the one before
 * @param retryMost The longest time until an entry that failed is handed over again
 * @param shutdownWithin How long the end of the application waits for the entry in hand
 */
public record OrderListenerOptions(
        @DefaultValue("true") boolean enabled,
        @Nullable String group,
        @DefaultValue("stream.orders") String stream,
        @DefaultValue("userId voucherId id") String fields,
        @DefaultValue List<String> tags,
        @DefaultValue("1") int concurrency,
        @DefaultValue("100") int batch,
        @DefaultValue("1s") Duration poll,
        @DefaultValue("60s") Duration claimAfter,
        @DefaultValue("1s") Duration retryFirst,
        @DefaultValue("60s") Duration retryMost,
        @DefaultValue("20s") Duration shutdownWithin) {
    public OrderListenerOptions {
        tags = List.copyOf(tags);
        if (concurrency < 1 || batch < 1) {
            throw new IllegalArgumentException("concurrency and batch must be at least 1");
        }
        for (Duration time : List.of(poll, claimAfter, retryFirst, retryMost)) {
            if (time.toMillis() < 1) {
                throw new IllegalArgumentException(
                        "poll, claim-after, retry-first and retry-most must be at least 1 ms: "
                                + time);
            }
        }
    }

    /** The same, but for what a group says of itself. */
    OrderListenerOptions of(Map<String, String> said) {
        String after = said.get("claimAfter");
        return new OrderListenerOptions(
                enabled, group, stream, fields, tags,
                Integer.parseInt(said.getOrDefault("concurrency", "" + concurrency)),
                Integer.parseInt(said.getOrDefault("batch", "" + batch)), poll,
                after == null ? claimAfter : DurationStyle.detectAndParse(after), retryFirst,
                retryMost, shutdownWithin);
    }

    /** When an entry is due again after so many deliveries. */
    Duration backoff(long deliveries) {
        long doublings = Math.min(Math.max(deliveries - 1, 0), 30);
        Duration next = retryFirst.multipliedBy(1L << doublings);
        return next.compareTo(retryMost) < 0 ? next : retryMost;
    }
}
