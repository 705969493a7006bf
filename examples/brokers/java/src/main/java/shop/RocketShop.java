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
    /**
     * After this time no try of a message can arrive any more: a message is tried in the first half
     * of it, and the second is longer than Redis, the network or a paused shop may take.
     */
    private static final long TRIED_MS =
            Long.parseLong(System.getenv().getOrDefault("TRIED_MS", "300000"));

    /** The try of a message. */
    private static final class Try {
        final long since = System.currentTimeMillis(); // before the message was born
        String outcome = "none";
    }

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
            Try tried = new Try();
            try {
                System.out.println(order + " " + producer.sendMessageInTransaction(message, tried)
                        .getLocalTransactionState() + " " + tried.outcome);
            } catch (Exception away) { // nothing was tried
                System.err.println(order + ": " + away.getMessage());
                Thread.sleep(200);
            }
        }
        System.out.println("end"); // but it goes on to answer for what it has sent
    }

    @Override public LocalTransactionState executeLocalTransaction(Message message, Object arg) {
        Try tried = (Try) arg;
        if (System.currentTimeMillis() - tried.since > TRIED_MS / 2) {
            tried.outcome = "late"; // a check-back may roll the message back while Redis sells
            return ROLLBACK_MESSAGE;
        }
        String[] words = new String(message.getBody(), UTF_8).split(" ");
        try {
            long outcome = redis.dispatch(keyword("SECKILL.TRY"), new IntegerOutput<>(UTF8),
                    arguments(words[0], words[1], words[2]));
            tried.outcome = "" + outcome;
            return outcome == 0 ? COMMIT_MESSAGE : outcome == 6 ? UNKNOW : ROLLBACK_MESSAGE;
        } catch (RuntimeException late) { // or Redis is away: it may have sold
            return UNKNOW;
        }
    }

    @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
        LocalTransactionState state;
        try {
            state = check(message, new String(message.getBody(), UTF_8).split(" "));
        } catch (RuntimeException away) { // or the sale is dropped, and its orders with it
            state = UNKNOW;
        }
        System.err.println("check-back: " + message.getKeys() + " " + state);
        return state;
    }

    private LocalTransactionState check(MessageExt message, String[] words) {
        List<Object> order = redis.dispatch(keyword("SECKILL.ORDER"),
                new NestedMultiOutput<>(UTF8), arguments(words[0], words[2]));
        if (order.size() > 1) {
            if ("waiting".equals(order.get(5))) return UNKNOW;
            return words[1].equals(order.get(1)) ? COMMIT_MESSAGE : ROLLBACK_MESSAGE;
        }
        // Only the sale that it was tried in can say that it was not sold.
        List<Object> info = redis.dispatch(keyword("SECKILL.INFO"), new NestedMultiOutput<>(UTF8),
                new CommandArgs<>(UTF8).addKey(words[0]));
        Long sale = (Long) info.get(info.indexOf("sale") + 1); // when it was created, in us
        long born = message.getBornTimestamp();
        boolean untried = System.currentTimeMillis() - born > TRIED_MS;
        return untried && sale != null && sale / 1_000 < born ? ROLLBACK_MESSAGE : UNKNOW;
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
