package shop;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillException.Code;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;

/** Waits for what will be, with a deadline that busy machines keep, too. */
public final class Until {
    private Until() {}

    public static ConditionFactory await(@Nullable String what) {
        return Awaitility.await(what).pollInSameThread()
                .atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(5));
    }

    public static ConditionFactory await() {
        return await(null);
    }

    static void fails(CompletableFuture<?> future, Code code) {
        assertThatThrownBy(future::join).cause().hasFieldOrPropertyWithValue("code", code);
    }

    static void fails(ThrowingCallable call, Code code) {
        assertThatThrownBy(call).hasFieldOrPropertyWithValue("code", code);
    }
}
