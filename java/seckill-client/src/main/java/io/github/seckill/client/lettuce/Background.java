package io.github.seckill.client.lettuce;

import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** Runs what Lettuce can only wait for, on a thread made for it, so that nobody has to wait. */
final class Background {
    private Background() {}

    static <T> CompletableFuture<T> run(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, Background::start);
    }

    private static void start(Runnable work) {
        Thread thread = new Thread(work, "seckill-connect");
        thread.setDaemon(true);
        thread.start();
    }
}
