package io.github.seckill.client.lettuce;

import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.api.StatefulRedisConnection;
import java.util.concurrent.CompletableFuture;

/** The one server, or those of a cluster. */
interface Servers {
    /** Opens a connection for all commands. It finds the server of each by its key. */
    StatefulConnection<String, String> connect();

    /** The server that has this key, by a name that only this object knows. */
    String serverOf(String key);

    /** Opens a connection to one server, without waiting for it. */
    CompletableFuture<Single> connectTo(String server);

    /** Looks up again where the keys are. */
    void refresh();

    boolean isCluster();

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
