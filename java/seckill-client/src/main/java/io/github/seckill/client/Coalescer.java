package io.github.seckill.client;

import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Sends the tries on a voucher that come together as one command, in the order in which they came.
 *
 * <p>A voucher has a line only while a batch of it is under way or tries of it wait. One batch is
 * under way at a time, until its first answer or time-out; the next one is what has come meanwhile.
 */
final class Coalescer implements AutoCloseable {
    private final Sender sender;
    private final SeckillObserver observer;
    private final ScheduledExecutorService timer;
    private final long windowNanos;
    private final int batchMax;
    private final int waitingMax;
    private final long patienceNanos;
    private final ConcurrentMap<String, Line> lines = new ConcurrentHashMap<>();
    private volatile boolean closed;

    Coalescer(
            Sender sender,
            SeckillOptions options,
            SeckillObserver observer,
            ScheduledExecutorService timer) {
        this.sender = sender;
        this.observer = observer;
        this.timer = timer;
        Duration window = options.coalescingWindow();
        this.windowNanos = options.coalescing() == Coalescing.ON ? window.toNanos() : 0;
        this.batchMax = options.batchMax();
        this.waitingMax = options.waitingMax();
        this.patienceNanos = options.commandTimeout().plus(options.retryFor()).toNanos();
    }

    /** A try and who waits for it. Cancelled before it is sent, it leaves the line. */
    private static final class Member extends CompletableFuture<Outcome> {
        private final String user;
        private final String orderId;
        private final long came = System.nanoTime();

        Member(String user, String orderId) {
            this.user = user;
            this.orderId = orderId;
        }
    }

    /** What waits of one voucher. Touched only inside {@code lines.compute}, which excludes. */
    private static final class Line {
        private final Queue<Member> waiting = new ArrayDeque<>();
        private boolean underWay;
        private boolean windowOpen;
    }

    /** What a look at a line has decided, to be done outside of it. */
    private static final class Decision {
        private List<Member> send = List.of();
        private final List<Member> late = new ArrayList<>();
        private boolean openWindow;
        private boolean full;
    }

    CompletableFuture<Outcome> add(String voucher, String user, String orderId) {
        Member member = new Member(user, orderId);
        Decision decision = new Decision();
        lines.compute(
                voucher,
                (name, present) -> {
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
            member.completeExceptionally(
                    new SeckillException.Busy(
                            closed
                                    ? "BUSY the client is closed"
                                    : "BUSY " + waitingMax + " tries wait to be sent",
                            null));
        }
        carryOut(voucher, decision);
        return member;
    }

    /** Removes who has left, and says whether that made a place. */
    private boolean sweep(Line line) {
        line.waiting.removeIf(Member::isDone);
        return line.waiting.size() < waitingMax;
    }

    /** Takes the next batch out of the line: what came first, without who has left. */
    private List<Member> take(Line line, Decision decision) {
        List<Member> batch = new ArrayList<>(Math.min(line.waiting.size(), batchMax));
        long now = System.nanoTime();
        while (batch.size() < batchMax) {
            Member next = line.waiting.poll();
            if (next == null) {
                break;
            }
            if (now - next.came > patienceNanos) {
                decision.late.add(next);
            } else if (!next.isDone()) {
                batch.add(next);
            }
        }
        line.underWay = !batch.isEmpty();
        line.windowOpen = false;
        return batch;
    }

    private void carryOut(String voucher, Decision decision) {
        for (Member late : decision.late) {
            late.completeExceptionally(
                    new SeckillException.Busy("BUSY not sent in time: the server is slow", null));
        }
        if (decision.openWindow) {
            try {
                timer.schedule(() -> windowEnds(voucher), windowNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException closing) {
                windowEnds(voucher);
            }
        }
        if (!decision.send.isEmpty()) {
            send(voucher, decision.send);
        }
    }

    private void windowEnds(String voucher) {
        Decision decision = new Decision();
        lines.computeIfPresent(
                voucher,
                (name, line) -> {
                    if (line.underWay) {
                        return line;
                    }
                    decision.send = take(line, decision);
                    return line.underWay ? line : null;
                });
        carryOut(voucher, decision);
    }

    /** The batch under way was answered or has timed out: the next one may go. */
    private void landed(String voucher) {
        Decision decision = new Decision();
        lines.computeIfPresent(
                voucher,
                (name, line) -> {
                    decision.send = take(line, decision);
                    return line.underWay ? line : null;
                });
        carryOut(voucher, decision);
    }

    private void send(String voucher, List<Member> batch) {
        observer.sent(batch.size());
        Runnable landed = () -> landed(voucher);
        if (batch.size() == 1) {
            alone(voucher, batch.get(0), landed);
            return;
        }
        List<String> pairs = new ArrayList<>(2 * batch.size());
        for (Member member : batch) {
            pairs.add(member.user);
            pairs.add(member.orderId);
        }
        sender.callIfManaged(Commands.tryMany(voucher, pairs), voucher, landed)
                .whenComplete((reply, failure) -> answered(voucher, batch, reply, failure));
    }

    private void alone(String voucher, Member member, Runnable landed) {
        Command command = Commands.tryOne(voucher, member.user, member.orderId, 1);
        Tries.outcome(sender.callIfManaged(command, voucher, landed))
                .whenComplete((outcome, failure) -> complete(member, outcome, failure));
    }

    private void answered(
            String voucher,
            List<Member> batch,
            @Nullable Object reply,
            @Nullable Throwable failure) {
        if (failure == null) {
            deliver(batch, reply);
            return;
        }
        SeckillException said = Sender.unwrapped(failure);
        if (said.code() == SeckillException.Code.OTHER && said.word().equals("ERR")) {
            // One of them may be what the server refuses, such as an id that is too long. Nothing
            // was changed, so each is tried by itself, and fails by itself.
            batch.forEach(member -> alone(voucher, member, () -> {}));
            return;
        }
        for (Member member : batch) {
            if (said instanceof SeckillException.NoAnswer) {
                member.complete(Outcome.UNKNOWN);
            } else {
                member.completeExceptionally(said);
            }
        }
    }

    private static void deliver(List<Member> batch, @Nullable Object reply) {
        List<AttemptResult> results;
        try {
            results = Replies.attempts(reply, batch.size());
        } catch (SeckillException unexpected) {
            batch.forEach(member -> member.completeExceptionally(unexpected));
            return;
        }
        for (int i = 0; i < batch.size(); i++) {
            Member member = batch.get(i);
            AttemptResult result = results.get(i);
            if (result instanceof AttemptResult.Decided decided) {
                member.complete(decided.outcome());
            } else if (result instanceof AttemptResult.Mistaken mistaken) {
                member.completeExceptionally(mistaken.mistake());
            }
        }
    }

    private static void complete(
            Member member, @Nullable Outcome outcome, @Nullable Throwable failure) {
        if (outcome != null) {
            member.complete(outcome);
        } else if (failure != null) {
            member.completeExceptionally(Sender.unwrapped(failure));
        }
    }

    /** Fails what waits: it was not sent. */
    @Override
    public void close() {
        closed = true;
        List<Member> left = new ArrayList<>();
        for (String voucher : lines.keySet()) {
            lines.computeIfPresent(
                    voucher,
                    (name, line) -> {
                        left.addAll(line.waiting);
                        line.waiting.clear();
                        return line;
                    });
        }
        for (Member member : left) {
            member.completeExceptionally(
                    new SeckillException.Busy("BUSY the client is closed", null));
        }
    }
}
