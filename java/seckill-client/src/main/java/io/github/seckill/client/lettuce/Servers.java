package io.github.seckill.client.lettuce;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.concurrent.CompletableFuture;
import java.util.function.Supplier;

/** The one server, or those of a cluster. */
interface Servers {
    /** Opens a connection for all commands. It finds the server of each by its key. */
    StatefulConnection<String, String> connect();

    /** The server that has this key, by a name that only this object knows. */
    default String serverOf(String key) {
        return "";
    }

    /** Opens a connection to one server, without waiting for it. */
    CompletableFuture<Single> connectTo(String server);

    /** Looks up again where the keys are. */
    default void refresh() {}

    boolean isCluster();

    /** Runs what Lettuce can only wait for, on a thread made for it. */
    static <T> CompletableFuture<T> run(Supplier<T> work) {
        return CompletableFuture.supplyAsync(work, task -> {
            Thread thread = new Thread(task, "seckill-connect");
            thread.setDaemon(true);
            thread.start();
        });
    }

    /**
     * A connection to one server and how it is closed.
     *
     * @param connection sends
     * @param owner is closed, and the connection with it
     */
    record Single(
            StatefulRedisConnection<String, String> connection,
            StatefulConnection<String, String> owner) {}
}
