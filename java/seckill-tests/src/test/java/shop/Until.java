package shop;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillException.Code;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;

/** Waits for what will be, with a deadline. */
final class Until {
    private static final Duration DEADLINE = Duration.ofSeconds(60);

    private Until() {}

    static void holds(String what, Callable<Boolean> condition) throws Exception {
        long started = System.nanoTime();
        while (!condition.call()) {
            if (System.nanoTime() - started > DEADLINE.toNanos()) {
                throw new AssertionError("not in " + DEADLINE + ": " + what);
            }
            Thread.sleep(2);
        }
    }

    static void fails(CompletableFuture<?> future, Code code) {
        assertThatThrownBy(future::join).cause().hasFieldOrPropertyWithValue("code", code);
    }

    static void fails(ThrowingCallable call, Code code) {
        assertThatThrownBy(call).hasFieldOrPropertyWithValue("code", code);
    }
}
