package shop.commands;

import io.lettuce.core.codec.ByteArrayCodec;
import io.lettuce.core.output.ArrayOutput;
import io.lettuce.core.output.CommandOutput;
import io.lettuce.core.output.GenericMapOutput;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.StatusOutput;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.springframework.data.redis.connection.lettuce.LettuceConnection;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;

/**
 * Sends the module's commands over the connections of Spring Data Redis.
 *
 * <p>{@code connection.execute("SECKILL.TRY", ...)} fails: for a command that it doesn't know,
 * Spring Data Redis takes an output that holds no integer. The form below names the output.
 */
final class Seckill {
    private final LettuceConnectionFactory connections;

    Seckill(LettuceConnectionFactory connections) {
        this.connections = connections;
    }

    long integer(String command, String... arguments) {
        return (Long) execute(command, new IntegerOutput<>(ByteArrayCodec.INSTANCE), arguments);
    }

    void status(String command, String... arguments) {
        execute(command, new StatusOutput<>(ByteArrayCodec.INSTANCE), arguments);
    }

    List<Object> list(String command, String... arguments) {
        List<?> reply =
                (List<?>) execute(command, new ArrayOutput<>(ByteArrayCodec.INSTANCE), arguments);
        return reply.stream().map(Seckill::text).toList();
    }

    Map<String, Object> map(String command, String... arguments) {
        Map<?, ?> reply =
                (Map<?, ?>)
                        execute(
                                command,
                                new GenericMapOutput<>(ByteArrayCodec.INSTANCE),
                                arguments);
        Map<String, Object> map = new HashMap<>();
        reply.forEach((name, value) -> map.put((String) text(name), text(value)));
        return map;
    }

    private Object execute(String command, CommandOutput<?, ?, ?> output, String... arguments) {
        byte[][] bytes =
                Arrays.stream(arguments)
                        .map(argument -> argument.getBytes(StandardCharsets.UTF_8))
                        .toArray(byte[][]::new);
        try (LettuceConnection connection = (LettuceConnection) connections.getConnection()) {
            return connection.execute(command, output, bytes);
        }
    }

    private static Object text(Object value) {
        return value instanceof byte[] bytes ? new String(bytes, StandardCharsets.UTF_8) : value;
    }
}
