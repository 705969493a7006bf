package io.github.seckill.client.lettuce;

import io.github.seckill.client.Request;
import io.github.seckill.client.SeckillException;
import io.lettuce.core.RedisCommandExecutionException;
import io.lettuce.core.RedisCommandTimeoutException;
import io.lettuce.core.api.StatefulConnection;
import io.lettuce.core.codec.StringCodec;
import io.lettuce.core.protocol.*;
import io.netty.buffer.ByteBuf;
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

    /** Sends a command. What its future fails with is made of what Lettuce says. */
    static CompletableFuture<@Nullable Object> send(
            StatefulConnection<String, String> connection, Request request, Duration timeout) {
        Sending sending = new Sending(request);
        sending.dispatch(connection, timeout);
        return sending;
    }

    /**
     * The reply to a command that is dispatched now or later. Cancelled, it is never written, also
     * if Lettuce has it in a buffer until a connection is back.
     */
    static final class Sending extends CompletableFuture<@Nullable Object> {
        private final Sent sent;
        private final AsyncCommand<String, String, @Nullable Object> command;

        Sending(Request request) {
            sent = new Sent(request);
            command = new OnOurTime(sent);
            command.whenComplete(this::ended);
        }

        void dispatch(StatefulConnection<String, String> connection, Duration timeout) {
            if (isDone()) {
                return;
            }
            try {
                connection.dispatch(command);
            } catch (RuntimeException failed) {
                completeExceptionally(sent.failure(failed));
                return;
            }
            command.orTimeout(timeout.toNanos(), TimeUnit.NANOSECONDS);
        }

        private void ended(@Nullable Object value, @Nullable Throwable failed) {
            if (sent.state.get() == State.REPEATED) {
                completeExceptionally(
                        new SeckillException.NoAnswer("NOANSWER connection lost", failed));
            } else if (failed != null) {
                completeExceptionally(sent.failure(failed));
            } else {
                complete(value);
            }
        }

        @Override
        public boolean cancel(boolean mayInterrupt) {
            boolean cancelled = super.cancel(mayInterrupt);
            sent.state.compareAndSet(State.NEW, State.ABANDONED);
            command.cancel(false);
            return cancelled;
        }
    }

    /**
     * A command that ends by our time-out. That of the application's connections, which Lettuce
     * applies to every command, may be shorter than a wait in a lock's line.
     */
    private static final class OnOurTime extends AsyncCommand<String, String, @Nullable Object> {
        OnOurTime(Sent sent) {
            super(sent);
        }

        @Override
        public boolean completeExceptionally(Throwable failed) {
            return !(failed instanceof RedisCommandTimeoutException)
                    && super.completeExceptionally(failed);
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
        private final boolean repeatable;
        private final AtomicReference<State> state = new AtomicReference<>(State.NEW);

        private final Request request;

        Sent(Request request) {
            this(request, new ReplyOutput());
        }

        private Sent(Request request, ReplyOutput reply) {
            super(Name.of(request.name()), reply, args(request.arguments()));
            this.reply = reply;
            this.request = request;
            this.repeatable = request.repeatable();
        }

        private static CommandArgs<String, String> args(List<String> arguments) {
            CommandArgs<String, String> args = new CommandArgs<>(StringCodec.UTF8);
            return args.addKey(arguments.get(0)).addValues(arguments.subList(1, arguments.size()));
        }

        @Override
        public void encode(ByteBuf buffer) {
            boolean redirected = reply.begin();
            List<String> now = request.now().get();
            if (!now.isEmpty() && mayBeWritten(redirected)) {
                if (now.size() != request.arguments().size()) {
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
            if (state.get() == State.WRITTEN && (redirected || repeatable)) {
                return true;
            }
            state.compareAndSet(State.WRITTEN, State.REPEATED);
            return false;
        }

        /** What is known of it now that it has failed so. */
        SeckillException failure(Throwable failed) {
            return state.compareAndSet(State.NEW, State.ABANDONED)
                    ? SeckillException.notConnected(failed)
                    : Wire.failure(failed);
        }
    }

    /** What is known of a command that has failed so. */
    static SeckillException failure(Throwable failed) {
        Throwable inner = failed;
        while (inner instanceof CompletionException && inner.getCause() != null) {
            inner = inner.getCause();
        }
        String message = String.valueOf(inner.getMessage());
        if (inner instanceof SeckillException said) {
            return said;
        }
        return inner instanceof RedisCommandExecutionException
                ? SeckillException.of(message, inner)
                : new SeckillException.NoAnswer("NOANSWER " + inner, inner);
    }
}
