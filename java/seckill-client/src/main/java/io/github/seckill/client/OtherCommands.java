package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Those of {@link Commands} that are about no voucher: streams, ids, bare stocks, pools, locks. */
abstract sealed class OtherCommands permits Commands {
    private static final int IDS_MAX = 65_536;

    OtherCommands() {}

    /**
     * Moves an entry of a stream to its dead letters and releases its order, once. Replies false if
     * the entry is not pending in that group, as after an earlier rejection.
     *
     * @param group the consumer group that the entry was delivered to
     * @param reason why, for people
     */
    public static SeckillCommand<Boolean> reject(
            String stream, String group, String entryId, String reason) {
        Args.text(group, "group");
        Args.text(entryId, "entryId");
        Args.present(reason, "reason");
        return Call.of(
                "SECKILL.REJECT", Replies::flag, Args.text(stream, "stream"), group, entryId,
                "REASON", reason);
    }

    /**
     * Reads dead letters, the oldest first.
     *
     * @param stream the stream that the entries were in, not that of the dead letters
     * @param after only those after this id of a dead letter; {@code 0} for all
     * @param count how many at most
     */
    public static SeckillCommand<List<DeadLetter>> deadLetters(String stream, String after, int count) {
        Args.range(count, "count", 1, Integer.MAX_VALUE);
        return Call.of(
                "XRANGE", Replies::deadLetters, Args.text(stream, "stream") + ".dlq",
                "(" + Args.text(after, "after"), "+", "COUNT", count);
    }

    /** Makes an id, a decimal number of at most 63 bits, that never repeats under its prefix. */
    public static SeckillCommand<String> nextId(String prefix) {
        return ids(prefix, 1).then(ids -> SaleCommand.value(ids.get(0)), null);
    }

    /**
     * Makes ids that follow each other. If it is sent again, the first ones stay unused.
     *
     * @param count how many, 1 to 65,536
     */
    public static SeckillCommand<List<String>> nextIds(String prefix, int count) {
        return ids(prefix, count);
    }

    private static Call<List<String>> ids(String prefix, int count) {
        Args.range(count, "count", 1, IDS_MAX);
        return Call.of(
                "SECKILL.NEXTID", reply -> Replies.ids(reply, count), Args.text(prefix, "prefix"),
                "COUNT", count);
    }

    /**
     * Takes units, at least 1, from a bare stock. Sent once, and else {@link Deduction.Unknown}.
     */
    public static SeckillCommand<Deduction> deduct(String key, long units) {
        return bare("SECKILL.DEDUCT", Replies::deduction, key, units)
                .repeat(Repeat.NEVER).unanswered(new Deduction.Unknown());
    }

    /**
     * Puts units, at least 1, back into a bare stock, and replies the stock with them; -1 when the
     * key does not exist or is unlimited. Sent once.
     */
    public static SeckillCommand<Long> returnUnits(String key, long units) {
        return bare("SECKILL.RETURN", Replies::integer, key, units).repeat(Repeat.NEVER);
    }

    private static <T> Call<T> bare(
            String name, Function<@Nullable Object, T> reader, String key, long units) {
        return Call.of(name, reader, Args.text(key, "key"), Args.units(units));
    }

    /** Draws a prize code for a user, or tells the one that they have. */
    public static SeckillCommand<Prize> draw(String pool, String user) {
        return ofPool("SECKILL.DRAW", Replies::prize, pool, user);
    }

    /** Puts a user's prize code back. Replies false if the user has none. Sent once. */
    public static SeckillCommand<Boolean> undraw(String pool, String user) {
        return ofPool("SECKILL.UNDRAW", Replies::flag, pool, user).repeat(Repeat.NEVER);
    }

    private static <T> Call<T> ofPool(
            String name, Function<@Nullable Object, T> reader, String pool, String user) {
        return Call.of(name, reader, Args.text(pool, "pool"), Args.text(user, "user"));
    }

    static Call<Long> acquire(String key, String token, LockOptions options, long waitMs) {
        return Call.of("LOCK.ACQUIRE", Replies::integer, key, token, options.lease().toMillis())
                .option("BLOCK", waitMs > 0 ? waitMs : null).flag("FENCE", options.fenced())
                .flag("SESSION", options.session());
    }

    static Call<Boolean> renew(String key, String token, Duration lease) {
        return Call.of("LOCK.RENEW", Replies::flag, key, token, lease.toMillis());
    }

    /**
     * Takes a lock for this long if it is free, for code that acquires in one thread and releases
     * in another. Nobody renews it, and it is not tied to a connection; {@link SeckillLock} is.
     *
     * @param token names the holder: another for each acquisition, and the same for its repetition
     */
    public static SeckillCommand<Boolean> acquire(String key, String token, Duration lease) {
        return Call.of(
                "LOCK.ACQUIRE", Replies::flag, Args.text(key, "key"), Args.text(token, "token"),
                Args.millis(lease, "lease"));
    }

    /** Releases a lock if this token holds it, in whichever thread. */
    public static SeckillCommand<Boolean> release(String key, String token) {
        return releaseOf(Args.text(key, "key"), Args.text(token, "token"));
    }

    static Call<Boolean> releaseOf(String key, String token) {
        return Call.of("LOCK.RELEASE", Replies::flag, key, token);
    }
}
