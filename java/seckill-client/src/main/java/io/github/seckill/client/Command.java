package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import java.util.function.BiFunction;
import java.util.function.Function;

/**
 * A command of {@link Commands}: what is sent, what its reply means, and whether it may be sent
 * again. Making one sends nothing: {@link SeckillClient#run} and {@link SeckillClient#start} do,
 * each time that they are called.
 *
 * @param <T> what it replies
 */
public abstract sealed class Command<T> permits Call, Try, Command.Composed {
    Command() {}

    abstract CompletableFuture<T> start(Sender sender, Tries tries);

    /** This one, and then another that is made of its reply. */
    <U> Command<U> then(Function<? super T, Command<U>> next) {
        return new Composed<>((sender, tries) ->
                start(sender, tries).thenCompose(reply -> next.apply(reply).start(sender, tries)));
    }

    /** A value where a command is expected. */
    static <T> Command<T> value(T value) {
        return new Composed<>((sender, tries) -> CompletableFuture.completedFuture(value));
    }

    /** Several commands, or none. */
    static final class Composed<T> extends Command<T> {
        private final BiFunction<Sender, Tries, CompletableFuture<T>> how;

        private Composed(BiFunction<Sender, Tries, CompletableFuture<T>> how) {
            this.how = how;
        }

        @Override
        CompletableFuture<T> start(Sender sender, Tries tries) {
            return how.apply(sender, tries);
        }
    }
}
