package io.github.seckill.client;

import io.github.seckill.client.Call.Repeat;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Sends the tries on a voucher that come together as one command, in the order in which they came.
 *
 * <p>A voucher has a queue only while a batch of it is under way. One batch is under way at a time,
 * until its first answer or time-out; the next one is what has come meanwhile.
 */
final class Coalescer implements AutoCloseable {
    /** So many tries go in one batch at most. */
    private static final int BATCH_MAX = 256;
    /** So many tries of one voucher wait at most, those included whose callers have given up. */
    private static final int WAITING_MAX = 65_536;

    private final Sender sender;
    private final long patienceNanos;
    /** Who waits for the batch under way, by voucher. Touched only inside {@code compute}. */
    private final ConcurrentMap<String, Queue<Member>> queues = new ConcurrentHashMap<>();
    private volatile boolean closed;

    Coalescer(Sender sender, SeckillOptions options) {
        this.sender = sender;
        this.patienceNanos = options.commandTimeout.plus(options.retryFor).toNanos();
    }

    /** A try and who waits for it. Done before it is sent, it was given up and is not sent. */
    private static final class Member extends CompletableFuture<Purchase> {
        private final Try attempt;
        private final long came = System.nanoTime();
        /** What a look at the queue of its voucher has said. */
        private boolean first;
        private boolean refused;

        Member(Try attempt) {
            this.attempt = attempt;
        }

        void busy(String why) {
            completeExceptionally(new SeckillException.Busy("BUSY " + why, null));
        }
    }

    CompletableFuture<Purchase> add(Try attempt) {
        Member member = new Member(attempt);
        queues.compute(attempt.voucher, (voucher, queue) -> {
            if (closed || queue != null && queue.size() == WAITING_MAX) {
                member.refused = true;
                return queue;
            }
            member.first = queue == null;
            Queue<Member> all = member.first ? new ArrayDeque<>() : queue;
            all.add(member);
            return all;
        });
        if (member.refused) {
            member.busy(closed ? "the client is closed" : WAITING_MAX + " tries wait to be sent");
        } else if (member.first) {
            next(attempt.voucher);
        }
        if (closed) {
            close(); // It may have come after the others were told.
        }
        return member;
    }

    /**
     * Sends what has come first, once the batch before is decided. What is answered or refused
     * before it is sent off is followed in the loop: calls in calls would end with the stack.
     */
    private void next(String voucher) {
        AtomicBoolean passed = new AtomicBoolean(true);
        while (passed.getAndSet(true)) {
            List<Member> batch = take(voucher);
            if (batch.isEmpty()) {
                return;
            }
            AtomicBoolean second = new AtomicBoolean();
            passed = second;
            Runnable firstAnswer = () -> {
                if (second.getAndSet(true)) {
                    next(voucher);
                }
            };
            try {
                if (batch.size() == 1) {
                    alone(batch.get(0), firstAnswer);
                } else {
                    together(voucher, batch, firstAnswer);
                }
            } catch (RuntimeException | Error broken) {
                second.set(true); // Whatever it is, the others wait for no batch that is not there.
                fail(batch, SeckillException.of(broken));
            }
        }
    }

    /** Without who has left. Where nobody waits, the queue ends. */
    private List<Member> take(String voucher) {
        List<Member> batch = new ArrayList<>();
        List<Member> late = new ArrayList<>();
        queues.computeIfPresent(voucher, (name, queue) -> {
            long now = System.nanoTime();
            while (batch.size() < BATCH_MAX && !queue.isEmpty()) {
                Member next = queue.remove();
                if (now - next.came > patienceNanos) {
                    late.add(next);
                } else if (!next.isDone()) {
                    batch.add(next);
                }
            }
            return batch.isEmpty() ? null : queue;
        });
        late.forEach(member -> member.busy("not sent in time: the server is slow"));
        return batch;
    }

    /** Sends one try by itself, if somebody still waits for it. */
    private void alone(Member member, Runnable firstAnswer) {
        if (member.isDone()) {
            firstAnswer.run();
            return;
        }
        CompletableFuture<Purchase> sent =
                sender.call(() -> member.attempt, member.came, firstAnswer);
        member.whenComplete((answer, failed) -> sent.cancel(false));
        Sender.follow(sent, member);
    }

    private void together(String voucher, List<Member> batch, Runnable firstAnswer) {
        CompletableFuture<Answered> sent =
                sender.call(() -> batchOf(voucher, batch), batch.get(0).came, firstAnswer);
        // Nobody has a part in what is written any more once all have left.
        AtomicInteger left = new AtomicInteger(batch.size());
        sent.whenComplete((answered, failure) -> {
            if (failure == null) {
                deliver(answered);
            } else {
                fail(batch, SeckillException.of(failure));
            }
        });
        batch.forEach(member -> member.whenComplete((answer, failed) -> {
            if (left.decrementAndGet() == 0) {
                sent.cancel(false);
            }
        }));
    }

    /** Those whose tries were written, and what each was answered. */
    private record Answered(List<Member> members, List<?> results) {}

    /** One command for those who still wait when it is written. Its reply is theirs. */
    private static Call<Answered> batchOf(String voucher, List<Member> batch) {
        List<Member> all = living(batch);
        List<String> arguments = arguments(voucher, all);
        AtomicReference<List<Member>> written = new AtomicReference<>(all);
        Function<@Nullable Object, Answered> reader = reply -> new Answered(
                written.get(), Replies.sized(reply, written.get().size()));
        return Call.of("SECKILL.MTRY", reader, arguments.toArray())
                .repeat(Repeat.IF_MANAGED)
                .now(() -> {
                    List<Member> members = living(all);
                    written.set(members);
                    return members.size() == all.size() ? arguments : arguments(voucher, members);
                });
    }

    private static List<Member> living(List<Member> batch) {
        List<Member> living = new ArrayList<>(batch);
        living.removeIf(Member::isDone);
        return living;
    }

    private static List<String> arguments(String voucher, List<Member> members) {
        if (members.isEmpty()) {
            return List.of();
        }
        List<String> all = new ArrayList<>(1 + 2 * members.size());
        all.add(voucher);
        for (Member member : members) {
            List<String> attempt = member.attempt.arguments;
            all.add(attempt.get(1)); // The user,
            all.add(attempt.get(2)); // and the order id.
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
                member.complete(member.attempt.read(result));
            } catch (RuntimeException broken) {
                member.completeExceptionally(SeckillException.of(broken));
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
        for (String voucher : queues.keySet()) {
            queues.computeIfPresent(voucher, (name, queue) -> {
                left.addAll(queue);
                queue.clear();
                return queue;
            });
        }
        left.forEach(member -> member.busy("the client is closed"));
    }
}
