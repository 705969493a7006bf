package io.github.seckill.client;

import java.util.List;
import java.util.function.Supplier;

/**
 * A command as a {@link SeckillTransport} sends it.
 *
 * @param name the name, such as {@code SECKILL.TRY}
 * @param arguments the arguments, to be sent as UTF-8. The first one is the key by which a cluster
 *     is routed
 * @param repeatable whether the command may reach the server twice. A transport must not send one
 *     that may not again by itself, not even when its connection was lost
 * @param now the arguments to be written at this moment: without those of callers who have left.
 *     None if nobody waits for a reply any more
 */
public record Request(
        String name, List<String> arguments, boolean repeatable, Supplier<List<String>> now) {
    public Request {
        arguments = List.copyOf(arguments);
        if (arguments.isEmpty()) {
            throw new IllegalArgumentException("a command of this module has a key");
        }
    }

    public Request(String name, List<String> arguments, boolean repeatable) {
        this(name, arguments, repeatable, () -> arguments);
    }

    public String key() {
        return arguments.get(0);
    }

    /** How many purchases it tries, 0 if it is no try. */
    int tries() {
        return switch (name) {
            case "SECKILL.TRY", "SECKILL.TRYKEYS" -> 1;
            case "SECKILL.MTRY" -> arguments.size() / 2;
            case "SECKILL.TRYALL" -> arguments.size() / 2 - 1;
            default -> 0;
        };
    }
}
