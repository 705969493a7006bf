package io.github.seckill.spring.boot;

import io.github.seckill.client.Coalescing;
import io.github.seckill.client.LockOptions;
import io.github.seckill.client.SeckillOptions;
import io.github.seckill.spring.listener.OrderListenerOptions;
import java.time.Duration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.NestedConfigurationProperty;
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
 * @param coalescingWindow How long a try waits for others if coalescing is on, at most 1 ms
 * @param batchMax How many tries travel together at most, 1 to 256
 * @param waitingMax How many tries of a voucher may wait here to be sent; more of them fail as busy
 * @param checkOnStart What to do at the start if the server lacks the module
 * @param listener How methods with SeckillOrderListener are served
 * @param lock How locks behave
 */
@ConfigurationProperties("seckill")
public record SeckillProperties(
        @DefaultValue("true") boolean enabled,
        @Nullable String connectionFactory,
        @DefaultValue("1s") Duration commandTimeout,
        @DefaultValue("5s") Duration retryFor,
        @DefaultValue("auto") Coalescing coalescing,
        @DefaultValue("200us") Duration coalescingWindow,
        @DefaultValue("256") int batchMax,
        @DefaultValue("65536") int waitingMax,
        @DefaultValue("warn") CheckOnStart checkOnStart,
        @NestedConfigurationProperty @DefaultValue OrderListenerOptions listener,
        @DefaultValue Lock lock) {
    /** What to do at the start if the server lacks the module. */
    public enum CheckOnStart {
        /** Nothing. */
        OFF,
        /** Say so in the log. */
        WARN,
        /** Don't start. */
        FAIL
    }

    /**
     * How locks behave, unless the application says otherwise for one.
     *
     * @param prefix What comes before the key in the names of the lock registry's locks
     * @param lease How long a lock is held at most without being renewed
     * @param renew Whether a held lock is renewed
     * @param session Whether a lock is released at once when its holder's connection closes
     * @param fenced Whether a lock has a fencing token
     */
    public record Lock(
            @DefaultValue("lock:") String prefix,
            @DefaultValue("30s") Duration lease,
            @DefaultValue("true") boolean renew,
            @DefaultValue("true") boolean session,
            @DefaultValue("true") boolean fenced) {

        LockOptions options() {
            return valid(() -> new LockOptions(lease, renew, session, fenced));
        }
    }

    SeckillOptions options() {
        return valid(() -> SeckillOptions.defaults()
                .commandTimeout(commandTimeout).retryFor(retryFor).coalescing(coalescing)
                .coalescingWindow(coalescingWindow).batchMax(batchMax).waitingMax(waitingMax)
                .lock(lock.options()));
    }

    private static <T> T valid(Supplier<T> values) {
        try {
            return values.get();
        } catch (IllegalArgumentException wrong) {
            throw new ConnectionChoice.Unclear(
                    "A property of seckill.* has a wrong value: " + wrong.getMessage() + ".",
                    "Set it to another one.");
        }
    }
}
