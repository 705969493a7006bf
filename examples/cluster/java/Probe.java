import io.lettuce.core.RedisURI;
import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.cluster.ClusterClientOptions;
import io.lettuce.core.cluster.RedisClusterClient;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import org.redisson.Redisson;
import org.redisson.api.RScript;
import org.redisson.config.Config;
import redis.clients.jedis.DefaultJedisClientConfig;
import redis.clients.jedis.HostAndPort;
import redis.clients.jedis.commands.ProtocolCommand;

/** Probe jedis|lettuce|redisson PORT default|once WORD...: one command by a cluster client. */
public class Probe {
    record Command(String text) implements ProtocolCommand {
        public byte[] getRaw() {
            return text.getBytes(StandardCharsets.US_ASCII);
        }
    }

    record Word(String text) implements ProtocolKeyword {
        public byte[] getBytes() {
            return text.getBytes(StandardCharsets.US_ASCII);
        }

        @Override
        public String toString() {
            return text;
        }
    }

    public static void main(String[] args) throws Exception {
        int port = Integer.parseInt(args[1]);
        boolean once = args[2].equals("once");
        List<String> words = Arrays.asList(args).subList(3, args.length);
        try {
            System.out.println("reply " + switch (args[0]) {
                case "jedis" -> jedis(port, once, words);
                case "lettuce" -> lettuce(port, words);
                default -> redisson(port, once, words);
            });
        } catch (Throwable e) {
            System.out.println("error " + e.getClass().getSimpleName() + " " + e.getMessage());
        }
        System.out.flush();
        Thread.sleep((long) (1000 * Double.parseDouble(System.getenv().getOrDefault("STAY", "0"))));
        Runtime.getRuntime().halt(0);
    }

    static Object jedis(int port, boolean once, List<String> words) {
        var builder = redis.clients.jedis.RedisClusterClient.builder()
                .nodes(Set.of(new HostAndPort("127.0.0.1", port)))
                .clientConfig(DefaultJedisClientConfig.builder().socketTimeoutMillis(300).build());
        if (once) {
            builder.maxAttempts(1);
        }
        String[] rest = words.subList(1, words.size()).toArray(String[]::new);
        return builder.build().sendCommand(words.get(1), new Command(words.get(0)), rest);
    }

    static Object lettuce(int port, List<String> words) {
        var client = RedisClusterClient.create(RedisURI.create("redis://127.0.0.1:" + port));
        client.setOptions(ClusterClientOptions.builder()
                .timeoutOptions(TimeoutOptions.enabled(Duration.ofMillis(300))).build());
        var args = new CommandArgs<>(StringCodec.UTF8).addKey(words.get(1));
        words.subList(2, words.size()).forEach(args::add);
        return client.connect().sync()
                .dispatch(new Word(words.get(0)), new IntegerOutput<>(StringCodec.UTF8), args);
    }

    static Object redisson(int port, boolean once, List<String> words) {
        var config = new Config();
        var cluster = config.useClusterServers()
                .addNodeAddress("redis://127.0.0.1:" + port)
                .setTimeout(300)
                .setMasterConnectionMinimumIdleSize(1)
                .setSlaveConnectionMinimumIdleSize(1);
        if (once) {
            cluster.setRetryAttempts(0);
        }
        Object[] rest = words.subList(2, words.size()).toArray();
        StringBuilder call = new StringBuilder("return redis.call('" + words.get(0) + "', KEYS[1]");
        for (int i = 1; i <= rest.length; i++) {
            call.append(", ARGV[").append(i).append(']');
        }
        return Redisson.create(config).getScript(org.redisson.client.codec.StringCodec.INSTANCE)
                .eval(RScript.Mode.READ_WRITE, call.append(')').toString(), RScript.ReturnType.LONG,
                        List.of(words.get(1)), rest);
    }
}
