package io.github.seckill.spring;

import java.time.Duration;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;

/** Waits on busy machines, too. */
public final class Patience {
    private Patience() {}

    /** Ends at once when what is waited for is there. */
    public static ConditionFactory await() {
        return Awaitility.await().atMost(Duration.ofSeconds(60));
    }
}
