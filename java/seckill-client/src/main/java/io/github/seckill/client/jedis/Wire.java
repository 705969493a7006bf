package io.github.seckill.client.jedis;

import io.github.seckill.client.Command;
import io.github.seckill.client.SeckillException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import org.jspecify.annotations.Nullable;
import redis.clients.jedis.CommandArguments;
import redis.clients.jedis.Connection;
import redis.clients.jedis.commands.ProtocolCommand;
import redis.clients.jedis.exceptions.JedisDataException;
import redis.clients.jedis.exceptions.JedisException;
import redis.clients.jedis.util.KeyValue;
import redis.clients.jedis.util.SafeEncoder;

/** Sends commands on a connection of Jedis and reads what it replies. */
final class Wire {
    private static final ConcurrentMap<String, ProtocolCommand> NAMES = new ConcurrentHashMap<>();

    private Wire() {}

    /** The name of a command that is not in Jedis' own table. */
    private record Name(byte[] bytes) implements ProtocolCommand {
        static ProtocolCommand of(String name) {
            return NAMES.computeIfAbsent(name, made -> new Name(SafeEncoder.encode(made)));
        }

        @Override
        public byte[] getRaw() {
            return bytes;
        }
    }

    /** Sends a command once. Jedis closes a connection on which an answer is overdue. */
    static @Nullable Object call(Connection connection, Command command, Duration timeout) {
        CommandArguments arguments = new CommandArguments(Name.of(command.name()));
        command.arguments().forEach(arguments::add);
        int before = connection.getSoTimeout();
        connection.setSoTimeout((int) Math.min(Integer.MAX_VALUE, timeout.toMillis()));
        try {
            return read(connection.executeCommand(arguments));
        } finally {
            if (!connection.isBroken()) {
                connection.setSoTimeout(before);
            }
        }
    }

    private static @Nullable Object read(@Nullable Object reply) {
        if (reply instanceof byte[] bytes) {
            return new String(bytes, StandardCharsets.UTF_8);
        }
        if (reply instanceof JedisDataException error) {
            return SeckillException.of(error.getMessage());
        }
        if (!(reply instanceof List<?> elements)) {
            return reply;
        }
        List<@Nullable Object> list = new ArrayList<>(elements.size());
        for (Object element : elements) {
            if (element instanceof KeyValue<?, ?> pair) {
                list.add(read(pair.getKey()));
                list.add(read(pair.getValue()));
            } else {
                list.add(read(element));
            }
        }
        return list;
    }

    static SeckillException failure(JedisException failed) {
        return failed instanceof JedisDataException
                ? SeckillException.of(failed.getMessage(), failed)
                : new SeckillException.NoAnswer("NOANSWER " + failed.getMessage(), failed);
    }
}
