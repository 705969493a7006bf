package shop;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.github.seckill.client.SeckillTransport;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** Keeps what is sent until a test answers it. */
final class FakeTransport implements SeckillTransport {
    /** Replies of SECKILL.INFO. */
    static final Object MANAGED = infoOf(1L);

    static final Object UNMANAGED = infoOf(0L);

    private final List<Sent> sent = new ArrayList<>();

    /** What everything is answered at once, without being kept. */
    volatile @Nullable Object always;

    private static Object infoOf(long managed) {
        return List.of("managed", managed, "state", "open", "buyers", 3L, "limit", 1L);
    }

    record Sent(Request command, CompletableFuture<@Nullable Object> reply) {}

    @Override
    public synchronized CompletableFuture<@Nullable Object> send(Request command, Duration timeout) {
        Object own = always;
        if (own != null) {
            return CompletableFuture.completedFuture(own);
        }
        Sent one = new Sent(command, new CompletableFuture<>());
        sent.add(one);
        return one.reply();
    }

    synchronized int count() {
        return sent.size();
    }

    synchronized Sent sent(int index) {
        return sent.get(index);
    }

    /** What was sent, the arguments behind the voucher only. */
    List<String> arguments(int index) {
        List<String> all = sent(index).command().arguments();
        return all.subList(1, all.size());
    }

    void answer(int index, @Nullable Object reply) {
        sent(index).reply().complete(reply);
    }

    void fail(int index, String error) {
        sent(index).reply().completeExceptionally(SeckillException.of(error));
    }

    void noAnswer(int index) {
        sent(index).reply().completeExceptionally(new SeckillException.NoAnswer("NOANSWER", null));
    }

    @Override
    public LockConnection openLockConnection(String key, Duration timeout) {
        throw new UnsupportedOperationException();
    }

    @Override
    public boolean isCluster() {
        return false;
    }

    @Override
    public void close() {}
}
