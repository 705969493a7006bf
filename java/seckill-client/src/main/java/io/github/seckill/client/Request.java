package io.github.seckill.client;

import java.util.List;

/**
 * A command as a {@link SeckillTransport} sends it.
 *
 * @param name the name, such as {@code SECKILL.TRY}
 * @param arguments the arguments, to be sent as UTF-8. The first one is the key by which a cluster
 *     is routed
 * @param repeatable whether the command may reach the server twice. A transport must not send one
 *     that may not again by itself, not even when its connection was lost
 */
public record Request(String name, List<String> arguments, boolean repeatable) {
    public Request {
        arguments = List.copyOf(arguments);
        if (arguments.isEmpty()) {
            throw new IllegalArgumentException("a command of this module has a key");
        }
    }

    public String key() {
        return arguments.get(0);
    }

    /** How many purchases it tries, 0 if it is no try. */
    int tries() {
        return switch (name) {
            case "SECKILL.TRY", "SECKILL.TRYKEYS" -> 1;
            case "SECKILL.MTRY" -> arguments.size() / 2;
            default -> 0;
        };
    }
}
