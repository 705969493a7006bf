package io.github.seckill.client;

import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/**
 * A command of {@link Commands}: what is sent, what its reply means, and whether it may be sent
 * again. Making one sends nothing: {@link SeckillClient#run} and {@link SeckillClient#start} do,
 * each time that they are called.
 *
 * @param <T> what it replies
 */
public abstract sealed class SeckillCommand<T> permits SaleCommand {
    SeckillCommand() {}

    /** The name of the command on the wire: of the first one, if it consists of several. */
    public abstract String name();

    abstract CompletableFuture<T> start(Sender sender, Tries tries);

    /** What it replies when no answer came; null if that is {@link SeckillException.NoAnswer}. */
    abstract @Nullable T unanswered();
}
