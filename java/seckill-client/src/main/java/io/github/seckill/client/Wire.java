package io.github.seckill.client;

import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.*;
import io.netty.buffer.ByteBuf;
import io.netty.util.Timeout;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.*;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Dispatches commands on a connection of Lettuce. */
final class Wire {
    private static final ConcurrentMap<String, ProtocolKeyword> NAMES = new ConcurrentHashMap<>();

    private Wire() {}

    /** The name of a command that is not in Lettuce's own table. Lettuce 6.3 asks for name(). */
    @SuppressWarnings("deprecation")
    private record Name(String name, byte[] bytes) implements ProtocolKeyword {
        static ProtocolKeyword of(String name) {
            return NAMES.computeIfAbsent(
                    name, made -> new Name(made, made.getBytes(StandardCharsets.US_ASCII)));
        }

        @Override
        public byte[] getBytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    /**
     * The reply to a command that is dispatched now or later. Cancelled, it is never written, also
     * if Lettuce has it in a buffer until a connection is back.
     */
    static final class Sending extends CompletableFuture<@Nullable Object> {
        private final Sent sent;
        private @Nullable Timeout timeout;
        private volatile Connections.@Nullable Shared shared;

        Sending(Call<?> call) {
            sent = new Sent(call, new ReplyOutput(), this);
        }

        /** On the connection for all commands, which is told whether it answers. */
        void dispatch(Connections.Shared shared, Duration patience) {
            this.shared = shared;
            dispatch(shared.lettuce, patience);
        }

        void dispatch(StatefulConnection<String, String> connection, Duration patience) {
            if (isDone()) {
                return;
            }
            long began = System.nanoTime();
            try {
                // A wheel takes and drops what ends in time for almost nothing.
                timeout = connection.getResources().timer().newTimeout(
                        late -> late(began, patience), patience.toNanos(), TimeUnit.NANOSECONDS);
                connection.dispatch(sent);
            } catch (RuntimeException failed) {
                failed(failed);
            }
            if (isDone()) {
                ended();
            }
        }

        private void late(long began, Duration patience) {
            failed(new TimeoutException("no reply in time"));
            Connections.Shared asked = shared;
            if (asked != null && sent.state.get() != State.ABANDONED) {
                asked.unanswered(began, patience);
            }
        }

        private void failed(Throwable failed) {
            if (!isDone() && completeExceptionally(sent.failure(failed))) {
                ended();
            }
        }

        /** Nothing is written any more, and nothing is waited for. */
        private void ended() {
            sent.cancel();
            Timeout running = timeout;
            if (running != null) {
                running.cancel();
            }
        }

        /** What was written stays under way until its reply or time-out, and is written no more. */
        @Override
        public boolean cancel(boolean mayInterrupt) {
            if (!sent.state.compareAndSet(State.NEW, State.ABANDONED)) {
                sent.state.compareAndSet(State.WRITTEN, State.REPEATED);
                return false;
            }
            boolean cancelled = super.cancel(mayInterrupt);
            ended();
            return cancelled;
        }
    }

    private enum State {
        /** It has not left this process. */
        NEW,
        /** It may have reached the server. */
        WRITTEN,
        /** It was to be written again and was not. */
        REPEATED,
        /** Its sender was answered that it was not sent, and it never will be. */
        ABANDONED
    }

    /**
     * A command that reaches the server at most once, unless it is repeatable. After a lost
     * connection Lettuce resends every command without an answer: this sends a PING instead, so
     * that the replies stay in step. A redirection is an answer, and following it is not a
     * repetition.
     */
    private static final class Sent
            extends io.lettuce.core.protocol.Command<String, String, @Nullable Object> {
        private final ReplyOutput reply;
        private final Call<?> call;
        private final Sending sending;
        private final AtomicReference<State> state = new AtomicReference<>(State.NEW);

        Sent(Call<?> call, ReplyOutput reply, Sending sending) {
            super(Name.of(call.name()), reply, args(call.arguments));
            this.reply = reply;
            this.call = call;
            this.sending = sending;
        }

        private static CommandArgs<String, String> args(List<String> arguments) {
            CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
            return args.addKey(arguments.get(0)).addValues(arguments.subList(1, arguments.size()));
        }

        @Override
        public void encode(ByteBuf buffer) {
            boolean redirected = reply.begin();
            List<String> now = call.argumentsNow();
            if (!now.isEmpty() && mayBeWritten(redirected)) {
                if (now.size() != call.arguments.size()) {
                    args = args(now);
                }
                super.encode(buffer);
            } else {
                new io.lettuce.core.protocol.Command<>(CommandType.PING, reply).encode(buffer);
            }
        }

        private boolean mayBeWritten(boolean redirected) {
            if (state.compareAndSet(State.NEW, State.WRITTEN)) {
                return true;
            }
            if (state.get() == State.WRITTEN && (redirected || call.isRepeatable())) {
                return true;
            }
            state.compareAndSet(State.WRITTEN, State.REPEATED);
            return false;
        }

        @Override
        public void complete() {
            super.complete();
            Connections.Shared asked = sending.shared;
            if (asked != null) {
                asked.answered();
            }
            if (state.get() == State.REPEATED) {
                sending.failed(new SeckillException.NoAnswer("NOANSWER connection lost", null));
            } else if (reply.hasError()) {
                sending.failed(SeckillException.of(reply.getError(), null));
            } else if (sending.complete(reply.get())) {
                sending.ended();
            }
        }

        /**
         * Our own time-out ends it. That of the application's connections, which Lettuce applies to
         * every command, may be shorter than a wait in a lock's queue.
         */
        @Override
        public boolean completeExceptionally(Throwable failed) {
            if (failed instanceof RedisCommandTimeoutException || !super.completeExceptionally(failed)) {
                return false;
            }
            sending.failed(failed);
            return true;
        }

        /** What is known of it now that it has failed so. */
        SeckillException failure(Throwable failed) {
            return state.compareAndSet(State.NEW, State.ABANDONED)
                    ? SeckillException.notConnected(failed)
                    : SeckillException.of(failed);
        }
    }
}
