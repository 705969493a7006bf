package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
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
        return options.coalescing == SeckillOptions.Coalescing.OFF || options.batchMax == 1
                ? null
                : new Coalescer(sender, options, timer);
    }

    private Coalescer(Sender sender, SeckillOptions options, ScheduledExecutorService timer) {
        this.sender = sender;
        this.timer = timer;
        boolean waits = options.coalescing == SeckillOptions.Coalescing.ON;
        this.windowNanos = waits ? options.coalescingWindow.toNanos() : 0;
        this.batchMax = options.batchMax;
        this.waitingMax = options.waitingMax;
        this.patienceNanos = options.commandTimeout.plus(options.retryFor).toNanos();
    }

    /**
     * What may travel together: tries on one voucher, those with ids of the server apart, since
     * they can't be repeated.
     */
    private record Way(String voucher, boolean idsOfServer) {}

    /** A try and who waits for it. One that is given up before it is sent is not sent. */
    private static final class Member extends CompletableFuture<Purchase> {
        private enum State {
            NEW,
            SENT,
            GIVEN_UP
        }

        private final Try attempt;
        private final long came = System.nanoTime();
        private final AtomicReference<State> state = new AtomicReference<>(State.NEW);
        private volatile @Nullable Runnable onEnd;

        Member(Try attempt) {
            this.attempt = attempt;
            // By its answer, or because its caller has cancelled it, or waits no longer.
            whenComplete((value, failure) -> {
                state.compareAndSet(State.NEW, State.GIVEN_UP);
                Runnable listener = onEnd;
                if (listener != null) {
                    listener.run();
                }
            });
        }

        /** Whether somebody waits for it. From now on it counts as sent. */
        boolean isToBeSent() {
            return !isDone()
                    && (state.compareAndSet(State.NEW, State.SENT) || state.get() == State.SENT);
        }

        /** Tells who sends it that nobody waits any more. Perhaps twice. */
        void onEnd(Runnable listener) {
            onEnd = listener;
            if (isDone()) {
                listener.run();
            }
        }

        void busy(String why) {
            completeExceptionally(new SeckillException.Busy("BUSY " + why, null));
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

    CompletableFuture<Purchase> add(Try attempt) {
        Member member = new Member(attempt);
        Way way = new Way(attempt.voucher, attempt.orderId.equals(Try.ID_OF_SERVER));
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
            member.busy(closed ? "the client is closed" : waitingMax + " tries wait to be sent");
        }
        carryOut(way, decision);
        if (closed) {
            close(); // It may have come after the others were told.
        }
        return member;
    }

    /** Removes who has left, and says whether that made a place. */
    private boolean sweep(Line line) {
        line.waiting.removeIf(Member::isDone);
        return line.waiting.size() < waitingMax;
    }

    /** Takes the next batch out of the queue: what came first, without who has left. */
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
            } else if (next.isToBeSent()) {
                batch.add(next);
            }
        }
        line.underWay = !batch.isEmpty();
        line.windowOpen = false;
        return batch;
    }

    private void carryOut(Way way, Decision decision) {
        decision.late.forEach(late -> late.busy("not sent in time: the server is slow"));
        if (decision.openWindow) {
            try {
                timer.schedule(() -> next(way, false), windowNanos, TimeUnit.NANOSECONDS);
            } catch (RejectedExecutionException closing) {
                next(way, false);
            }
        }
        if (decision.send.size() == 1) {
            alone(decision.send.get(0), () -> next(way, true));
        } else if (!decision.send.isEmpty()) {
            together(way, decision.send);
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

    /** Sends one try by itself, if somebody still waits for it. */
    private void alone(Member member, Runnable firstAnswer) {
        if (!member.isToBeSent()) {
            firstAnswer.run();
            return;
        }
        CompletableFuture<Purchase> sent = sender.call(() -> member.attempt.call, firstAnswer);
        member.onEnd(() -> sent.cancel(false));
        Sender.follow(sent, member);
    }

    private void together(Way way, List<Member> batch) {
        CompletableFuture<Answered> sent =
                sender.call(() -> batchOf(way, batch), () -> next(way, true));
        // Nobody has a part in what is written any more once all have left.
        Runnable left = () -> {
            if (batch.stream().allMatch(Member::isDone)) {
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
    private record Answered(List<Member> members, List<?> results) {}

    /** One command for those who still wait when it is written. Its reply is theirs. */
    private static Call<Answered> batchOf(Way way, List<Member> batch) {
        List<Member> all = living(batch);
        List<String> arguments = arguments(way, all);
        AtomicReference<List<Member>> written = new AtomicReference<>(all);
        Function<@Nullable Object, Answered> reader = reply -> new Answered(
                written.get(), Replies.sized(reply, written.get().size()));
        return Call.of("SECKILL.MTRY", reader, arguments.toArray())
                .repeat(way.idsOfServer() ? Repeat.NEVER : Repeat.IF_MANAGED)
                .now(() -> {
                    List<Member> members = living(all);
                    written.set(members);
                    return members.size() == all.size() ? arguments : arguments(way, members);
                });
    }

    private static List<Member> living(List<Member> batch) {
        List<Member> living = new ArrayList<>(batch);
        living.removeIf(Member::isDone);
        return living;
    }

    private static List<String> arguments(Way way, List<Member> members) {
        if (members.isEmpty()) {
            return List.of();
        }
        List<String> all = new ArrayList<>(1 + 2 * members.size());
        all.add(way.voucher());
        for (Member member : members) {
            all.add(member.attempt.user);
            all.add(member.attempt.orderId);
        }
        return all;
    }

    private static void deliver(Answered answered) {
        for (int i = 0; i < answered.members().size(); i++) {
            Member member = answered.members().get(i);
            Object result = answered.results().get(i);
            try {
                if (result instanceof SeckillException mistake) {
                    throw mistake;
                }
                member.complete(Replies.purchase(result, member.attempt.orderId));
            } catch (RuntimeException broken) {
                member.completeExceptionally(Sender.unwrapped(broken));
            }
        }
    }

    private void fail(List<Member> batch, SeckillException said) {
        boolean mayBeOneOfThem =
                said.code() == SeckillException.Code.OTHER && said.word().equals("ERR");
        for (Member member : batch) {
            if (mayBeOneOfThem) {
                // One of them may be what the server refuses, such as an id that is too long.
                // Nothing was changed, so each is tried by itself, and fails by itself.
                alone(member, () -> {});
            } else if (said instanceof SeckillException.NoAnswer) {
                member.complete(Purchase.without(Outcome.UNKNOWN));
            } else {
                member.completeExceptionally(said);
            }
        }
    }

    /** Fails what waits: it was not sent. */
    @Override
    public void close() {
        closed = true;
        List<Member> left = new ArrayList<>();
        for (Way way : lines.keySet()) {
            lines.computeIfPresent(way, (name, line) -> {
                left.addAll(line.waiting);
                line.waiting.clear();
                return line;
            });
        }
        left.forEach(member -> member.busy("the client is closed"));
    }
}
