package shop;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.apache.rocketmq.client.producer.LocalTransactionState.COMMIT_MESSAGE;
import static org.apache.rocketmq.client.producer.LocalTransactionState.ROLLBACK_MESSAGE;
import static org.apache.rocketmq.client.producer.LocalTransactionState.UNKNOW;

import io.lettuce.core.RedisClient;
import io.lettuce.core.api.sync.RedisCommands;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.output.IntegerOutput;
import io.lettuce.core.output.NestedMultiOutput;
import io.lettuce.core.protocol.CommandArgs;
import io.lettuce.core.protocol.ProtocolKeyword;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.List;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/**
 * Sells by RocketMQ's transaction messages: the try is the local transaction, and the book answers
 * the check-back: docs/brokers.md. Reads lines of voucher, user and order id.
 */
public final class RocketShop implements TransactionListener {
    /** A try that was sent so long ago can't arrive any more. Longer than Redis is waited for. */
    private static final long TRIED_MS = 10_000;

    private static final StringCodec UTF8 = StringCodec.UTF8;
    private final RedisCommands<String, String> redis;
    private RocketShop(String url) {
        RedisClient client = RedisClient.create(url);
        client.setDefaultTimeout(Duration.ofSeconds(2));
        redis = client.connect().sync();
    }

    public static void main(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("shop");
        producer.setNamesrvAddr(args[0]);
        producer.setTransactionListener(new RocketShop(System.getenv("REDIS_URL")));
        producer.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String order = line.split(" ")[2];
            Message message = new Message("orders", "", order, line.getBytes(UTF_8));
            try {
                System.out.println(order + " " + producer.sendMessageInTransaction(message, null)
                        .getLocalTransactionState());
            } catch (Exception away) { // nothing was tried
                System.err.println(order + ": " + away.getMessage());
                Thread.sleep(200);
            }
        }
        System.out.println("end"); // but it goes on to answer for what it has sent
    }

    @Override public LocalTransactionState executeLocalTransaction(Message message, Object none) {
        String[] words = new String(message.getBody(), UTF_8).split(" ");
        try {
            long outcome = redis.dispatch(keyword("SECKILL.TRY"), new IntegerOutput<>(UTF8),
                    arguments(words[0], words[1], words[2]));
            return outcome == 0 ? COMMIT_MESSAGE : outcome == 6 ? UNKNOW : ROLLBACK_MESSAGE;
        } catch (RuntimeException late) { // or Redis is away: it may have sold
            return UNKNOW;
        }
    }

    @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
        String[] words = new String(message.getBody(), UTF_8).split(" ");
        try {
            List<Object> order = redis.dispatch(keyword("SECKILL.ORDER"),
                    new NestedMultiOutput<>(UTF8), arguments(words[0], words[2]));
            if (order.size() > 1) {
                if ("waiting".equals(order.get(5))) return UNKNOW;
                return words[1].equals(order.get(1)) ? COMMIT_MESSAGE : ROLLBACK_MESSAGE;
            }
            long age = System.currentTimeMillis() - message.getBornTimestamp();
            return age > TRIED_MS ? ROLLBACK_MESSAGE : UNKNOW;
        } catch (RuntimeException away) {
            return UNKNOW;
        }
    }

    private static CommandArgs<String, String> arguments(String voucher, String... others) {
        CommandArgs<String, String> all = new CommandArgs<>(UTF8).addKey(voucher);
        for (String other : others) all.add(other);
        return all;
    }

    private static ProtocolKeyword keyword(String name) {
        return new ProtocolKeyword() {
            @Override public byte[] getBytes() { return name.getBytes(UTF_8); }
            public String name() { return name; } // of Lettuce before 6.6
        };
    }
}
