package shop;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.github.seckill.client.SeckillException.Code;
import io.micrometer.observation.*;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;
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

    /** Throws when it is called at this place, whatever else it is told. */
    @SuppressWarnings("unchecked") // a generic interface
    static ObservationHandler<Observation.Context> observerThatThrows(Supplier<String> where) {
        return (ObservationHandler<Observation.Context>) java.lang.reflect.Proxy.newProxyInstance(
                Until.class.getClassLoader(), new Class<?>[] {ObservationHandler.class},
                (self, method, arguments) -> {
                    if (method.getName().equals("supportsContext")) {
                        return ((Observation.Context) arguments[0]).getName().startsWith("seckill.");
                    }
                    if (method.getName().equals(where.get())) {
                        throw where.get().equals("onStop")
                                ? new AssertionError("an observer that is not content")
                                : new IllegalStateException("an observer that throws");
                    }
                    return method.getReturnType() == boolean.class ? self == arguments[0] : null;
                });
    }
}
