package shop.scripts;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.springframework.data.redis.connection.stream.Consumer;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamReadOptions;
import org.springframework.data.redis.core.StreamOperations;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.stereotype.Component;

/** Makes rows of the orders in the stream, one user at a time under a lock of Redisson. */
@Component
class OrderConsumer {
    private static final String STREAM = "stream.orders";
    private static final String GROUP = "g1";

    private final StreamOperations<String, String, String> streams;
    private final RedissonClient redisson;

    /** The table of orders: voucher and user by order id. */
    private final Map<Long, String> table = new TreeMap<>();

    OrderConsumer(StringRedisTemplate redis, RedissonClient redisson) {
        this.streams = redis.opsForStream();
        this.redisson = redisson;
    }

    void createGroup() {
        streams.createGroup(STREAM, ReadOffset.from("0"), GROUP);
    }

    /** Reads the stream to its end. A shop does so in a thread of its own, forever. */
    Map<Long, String> makeOrders() {
        while (true) {
            List<MapRecord<String, String, String>> records =
                    streams.read(
                            Consumer.from(GROUP, "c1"),
                            StreamReadOptions.empty().count(1),
                            StreamOffset.create(STREAM, ReadOffset.lastConsumed()));
            if (records == null || records.isEmpty()) {
                return table;
            }
            makeOrder(records.get(0).getValue());
            streams.acknowledge(GROUP, records.get(0));
        }
    }

    private void makeOrder(Map<String, String> order) {
        RLock lock = redisson.getLock("lock:order:" + order.get("userId"));
        if (!lock.tryLock()) {
            throw new IllegalStateException("the lock of this user is held");
        }
        try {
            table.put(
                    Long.valueOf(order.get("id")),
                    "voucher " + order.get("voucherId") + ", user " + order.get("userId"));
        } finally {
            lock.unlock();
        }
    }
}
