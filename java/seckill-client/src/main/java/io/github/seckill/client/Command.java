package io.github.seckill.client;

import java.util.List;

/**
 * A command as a {@link SeckillTransport} sends it.
 *
 * @param name the name, such as {@code SECKILL.TRY}
 * @param arguments the arguments, to be sent as UTF-8. The first one is the key by which a cluster
 *     is routed
 * @param reply what the server replies when all is well
 * @param repeatable whether the command may reach the server twice. A transport must not send one
 *     that may not again by itself, not even when its connection was lost
 */
public record Command(String name, List<String> arguments, Reply reply, boolean repeatable) {
    /** What a reply is, and what a transport makes of it. Null replies are null. */
    public enum Reply {
        /** An integer: a {@link Long}. */
        INTEGER,
        /** A status such as OK, or a bulk string: a {@link String}. */
        TEXT,
        /**
         * An array: a {@link List} of {@link Long}, {@link String}, null, lists, and a {@link
         * SeckillException} instead of an element that is an error. Maps of RESP3 are lists of
         * keys and values in turn, as in RESP2.
         */
        ARRAY
    }

    /**
     * Copies the arguments.
     *
     * @param name as above
     * @param arguments as above
     * @param reply as above
     * @param repeatable as above
     */
    public Command {
        arguments = List.copyOf(arguments);
        if (arguments.isEmpty()) {
            throw new IllegalArgumentException("a command of this module has a key");
        }
    }

    /**
     * The key by which a cluster is routed.
     *
     * @return the first argument
     */
    public String key() {
        return arguments.get(0);
    }
}
