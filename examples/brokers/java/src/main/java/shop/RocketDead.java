package shop;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.rocketmq.client.producer.LocalTransactionState;
import org.apache.rocketmq.client.producer.TransactionListener;
import org.apache.rocketmq.client.producer.TransactionMQProducer;
import org.apache.rocketmq.common.message.Message;
import org.apache.rocketmq.common.message.MessageExt;

/** A shop that dies after each try, and leaves the messages to the check-backs of another one. */
public final class RocketDead implements TransactionListener {
    public static void main(String[] args) throws Exception {
        TransactionMQProducer producer = new TransactionMQProducer("shop");
        producer.setNamesrvAddr(args[0]);
        producer.setTransactionListener(new RocketDead());
        producer.start();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Message message = new Message("orders", "", line.split(" ")[2], line.getBytes(UTF_8));
            for (boolean stored = false; !stored; ) {
                try {
                    producer.sendMessageInTransaction(message, null);
                    stored = true;
                } catch (Exception notYet) {
                    Thread.sleep(200);
                }
            }
        }
        Runtime.getRuntime().halt(0);
    }

    @Override public LocalTransactionState executeLocalTransaction(Message message, Object none) {
        return LocalTransactionState.UNKNOW;
    }

    @Override public LocalTransactionState checkLocalTransaction(MessageExt message) {
        return LocalTransactionState.UNKNOW;
    }
}
