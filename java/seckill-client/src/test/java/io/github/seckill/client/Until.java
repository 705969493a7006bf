package io.github.seckill.client;

import java.time.Duration;
import java.util.concurrent.Callable;

/** Waits for what will be, with a deadline. */
final class Until {
    private static final Duration DEADLINE = Duration.ofSeconds(20);

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
}
