package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
import io.github.seckill.client.Tries.Buying;
import io.github.seckill.client.Try.Bought;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Sends the tries on a voucher that come together as one command, in the order in which they came.
 *
 * <p>A voucher has a line only while a batch of it is under way or tries of it wait. One batch is
 * under way at a time, until its first answer or time-out; the next one is what has come meanwhile.
 */
final class Coalescer implements AutoCloseable {
    private final Sender sender;
    private final ScheduledExecutorService timer;
    private final long windowNanos;
    private final int batchMax;
    private final int waitingMax;
    private final long patienceNanos;
    private final ConcurrentMap<Way, Line> lines = new ConcurrentHashMap<>();
    private volatile boolean closed;

    static @Nullable Coalescer of(
            Sender sender, SeckillOptions options, ScheduledExecutorService timer) {
        return options.values.coalescing == Coalescing.OFF || options.values.batchMax == 1
                ? null
                : new Coalescer(sender, options, timer);
    }

    Coalescer(Sender sender, SeckillOptions options, ScheduledExecutorService timer) {
        this.sender = sender;
        this.timer = timer;
        Duration window = options.values.coalescingWindow;
        this.windowNanos = options.values.coalescing == Coalescing.ON ? window.toNanos() : 0;
        this.batchMax = options.values.batchMax;
        this.waitingMax = options.values.waitingMax;
        this.patienceNanos = options.commandTimeout().plus(options.values.retryFor).toNanos();
    }

    /**
     * What may travel together: tries on one voucher, those with ids of the server apart, since
     * they can't be repeated.
     */
    private record Way(String voucher, boolean idsOfServer) {
        static Way of(Try<?> attempt) {
            return new Way(attempt.voucher, attempt.orderId.equals(Try.ID_OF_SERVER));
        }
    }

    /** What waits of one voucher. Touched only inside {@code lines.compute}, which excludes. */
    private static final class Line {
        private final Queue<Buying<?>> waiting = new ArrayDeque<>();
        private boolean underWay;
        private boolean windowOpen;
    }

    /** What a look at a line has decided, to be done outside of it. */
    private static final class Decision {
        private List<Buying<?>> send = List.of();
        private final List<Buying<?>> late = new ArrayList<>();
        private boolean openWindow;
        private boolean full;
    }

    void add(Buying<?> member) {
        Way way = Way.of(member.attempt);
        Decision decision = new Decision();
        lines.compute(way, (name, present) -> {
            Line line = present == null ? new Line() : present;
            if (closed || line.waiting.size() >= waitingMax && !sweep(line)) {
                decision.full = true;
                return present;
            }
            line.waiting.add(member);
            if (!line.underWay) {
                if (windowNanos == 0 || line.waiting.size() >= batchMax) {
                    decision.send = take(line, decision);
                } else if (!line.windowOpen) {
                    line.windowOpen = true;
                    decision.openWindow = true;
                }
            }
            return line;
        });
        if (decision.full) {
            String why = closed ? "the client is closed" : waitingMax + " tries wait to be sent";
            member.completeExceptionally(new SeckillException.Busy("BUSY " + why, null));
        }
        carryOut(way, decision);
        if (closed) {
            close(); // It may have come after the others were told.
        }
    }

    /** Removes who has left, and says whether that made a place. */
    private boolean sweep(Line line) {
        line.waiting.removeIf(Buying::isDone);
        return line.waiting.size() < waitingMax;
    }

    /** Takes the next batch out of the line: what came first, without who has left. */
    private List<Buying<?>> take(Line line, Decision decision) {
        List<Buying<?>> batch = new ArrayList<>(Math.min(line.waiting.size(), batchMax));
        long now = System.nanoTime();
        while (batch.size() < batchMax) {
            Buying<?> next = line.waiting.poll();
            if (next == null) {
                break;
            }
            if (now - next.came > patienceNanos) {
                decision.late.add(next);
            } else if (next.isToBeSent()) {
                batch.add(next);
            }
        }
        line.underWay = !batch.isEmpty();
        line.windowOpen = false;
        return batch;
    }

    private void carryOut(Way way, Decision decision) {
        for (Buying<?> late : decision.late) {
            late.completeExceptionally(
                    new SeckillException.Busy("BUSY not sent in time: the server is slow", null));
        }
        if (decision.openWindow) {
            try {
                timer.schedule(() -> next(way, false), windowNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException closing) {
                next(way, false);
            }
        }
        if (!decision.send.isEmpty()) {
            send(way, decision.send);
        }
    }

    /** The window has ended; or the batch under way was answered or has timed out. */
    private void next(Way way, boolean landed) {
        Decision decision = new Decision();
        lines.computeIfPresent(way, (name, line) -> {
            if (landed || !line.underWay) {
                decision.send = take(line, decision);
            }
            return line.underWay ? line : null;
        });
        carryOut(way, decision);
    }

    private void send(Way way, List<Buying<?>> batch) {
        Runnable landed = () -> next(way, true);
        if (batch.size() == 1) {
            Tries.alone(sender, batch.get(0), landed);
            return;
        }
        CompletableFuture<Answered> sent =
                sender.call(() -> together(way, batch), landed);
        // Nobody has a part in what is written any more once all have left.
        Runnable left = () -> {
            if (batch.stream().allMatch(Buying::isDone)) {
                sent.cancel(false);
            }
        };
        sent.whenComplete((answered, failure) -> {
            if (failure == null) {
                deliver(answered);
            } else {
                fail(batch, Sender.unwrapped(failure));
            }
        });
        batch.forEach(member -> member.onEnd(left));
    }

    /** Those whose tries were written, and what each was answered. */
    private record Answered(List<Buying<?>> members, List<Object> results) {}

    /** One command for those who still wait when it is written. Its reply is theirs. */
    private static Call<Answered> together(Way way, List<Buying<?>> batch) {
        List<Buying<?>> all = living(batch);
        List<String> arguments = arguments(way, all);
        AtomicReference<List<Buying<?>>> written = new AtomicReference<>(all);
        Function<@Nullable Object, Answered> reader = reply -> {
            List<Buying<?>> members = written.get();
            return new Answered(members, Replies.each(reply, members.size(), Coalescer::result));
        };
        return Call.of("SECKILL.MTRY", reader, arguments.toArray())
                .repeat(way.idsOfServer() ? Repeat.NEVER : Repeat.IF_MANAGED)
                .now(() -> {
                    List<Buying<?>> members = living(all);
                    written.set(members);
                    return members.size() == all.size() ? arguments : arguments(way, members);
                });
    }

    private static List<Buying<?>> living(List<Buying<?>> batch) {
        List<Buying<?>> living = new ArrayList<>(batch);
        living.removeIf(Buying::isDone);
        return living;
    }

    private static List<String> arguments(Way way, List<Buying<?>> members) {
        if (members.isEmpty()) {
            return List.of();
        }
        List<String> all = new ArrayList<>(1 + 2 * members.size());
        all.add(way.voucher());
        for (Buying<?> member : members) {
            all.add(member.attempt.user);
            all.add(member.attempt.orderId);
        }
        return all;
    }

    /** A {@link Bought}, or the {@link SeckillException} of this member alone. */
    private static Object result(@Nullable Object reply) {
        return reply instanceof SeckillException mistake ? mistake : Replies.bought(reply);
    }

    private static void deliver(Answered answered) {
        for (int i = 0; i < answered.members().size(); i++) {
            Buying<?> member = answered.members().get(i);
            if (answered.results().get(i) instanceof Bought bought) {
                member.decided(bought);
            } else {
                member.completeExceptionally((SeckillException) answered.results().get(i));
            }
        }
    }

    private void fail(List<Buying<?>> batch, SeckillException said) {
        boolean mayBeOneOfThem =
                said.code() == SeckillException.Code.OTHER && said.word().equals("ERR");
        for (Buying<?> member : batch) {
            if (mayBeOneOfThem) {
                // One of them may be what the server refuses, such as an id that is too long.
                // Nothing was changed, so each is tried by itself, and fails by itself.
                Tries.alone(sender, member, () -> {});
            } else if (said instanceof SeckillException.NoAnswer) {
                member.decided(Bought.UNKNOWN);
            } else {
                member.completeExceptionally(said);
            }
        }
    }

    /** Fails what waits: it was not sent. */
    @Override
    public void close() {
        closed = true;
        List<Buying<?>> left = new ArrayList<>();
        for (Way way : lines.keySet()) {
            lines.computeIfPresent(way, (name, line) -> {
                left.addAll(line.waiting);
                line.waiting.clear();
                return line;
            });
        }
        left.forEach(member ->
                member.completeExceptionally(new SeckillException.Busy("BUSY the client is closed", null)));
    }
}
