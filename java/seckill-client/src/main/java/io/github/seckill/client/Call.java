package io.github.seckill.client;

import java.util.*;
import java.util.concurrent.CompletableFuture;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** One command that is sent as it is. Immutable. Its first argument is a key. */
sealed class Call<T> extends SeckillCommand<T> permits Try {
    private static final Set<String> OF_A_SALE =
            Set.of("SECKILL.TRY", "SECKILL.RESTOCK", "SECKILL.ALTER", "SECKILL.DROP");

    /** When a command without an answer may be sent again. */
    enum Repeat {
        ALWAYS,
        /** Its key is a voucher: the server is asked whether it is managed. */
        IF_MANAGED,
        /** If it names its sale. */
        IN_SALE,
        NEVER
    }

    private final String name;
    final List<String> arguments;
    private final Repeat repeat;
    private final Function<@Nullable Object, T> reader;
    private final @Nullable T unanswered;
    private final @Nullable Supplier<List<String>> now;

    private Call(
            String name, List<String> arguments, Repeat repeat,
            Function<@Nullable Object, T> reader, @Nullable T unanswered,
            @Nullable Supplier<List<String>> now) {
        this.name = name;
        this.arguments = arguments;
        this.repeat = repeat;
        this.reader = reader;
        this.unanswered = unanswered;
        this.now = now;
    }

    /** The same command. */
    Call(Call<T> same) {
        this(same.name, same.arguments, same.repeat, same.reader, same.unanswered, same.now);
    }

    /** A command that may be sent again. */
    static <T> Call<T> of(String name, Function<@Nullable Object, T> reader, Object... arguments) {
        List<String> texts = new ArrayList<>(arguments.length);
        for (Object argument : arguments) {
            texts.add(argument.toString());
        }
        return new Call<>(name, texts, Repeat.ALWAYS, reader, null, null);
    }

    /** With an option and its value, if there is a value. */
    Call<T> option(String option, @Nullable Object value) {
        return value == null ? this : with(option, value.toString());
    }

    /** With a word, if so. */
    Call<T> flag(String word, boolean is) {
        return is ? with(word) : this;
    }

    Call<T> with(String... more) {
        List<String> all = new ArrayList<>(arguments);
        all.addAll(List.of(more));
        return new Call<>(name, all, repeat, reader, unanswered, null);
    }

    /** Only a managed voucher has a sale, which never comes back once it has ended. */
    @Override
    public Call<T> inSale(long sale) {
        if (!OF_A_SALE.contains(name)) {
            throw new UnsupportedOperationException(name + " names no sale");
        }
        Call<T> call = with("SALE", Long.toString(Args.sale(sale)));
        return repeat == Repeat.NEVER ? call : call.repeat(Repeat.ALWAYS);
    }

    Call<T> repeat(Repeat when) {
        return new Call<>(name, arguments, when, reader, unanswered, now);
    }

    /** With a reply for when no answer came, which is {@link SeckillException.NoAnswer} else. */
    Call<T> unanswered(T reply) {
        return new Call<>(name, arguments, repeat, reader, reply, now);
    }

    /** The same, of which that is written which is to be at that moment; nothing if none is. */
    Call<T> now(Supplier<List<String>> now) {
        return new Call<>(name, arguments, repeat, reader, unanswered, now);
    }

    List<String> argumentsNow() {
        return now == null ? arguments : now.get();
    }

    /** Whether it may reach the server twice, whatever its key is. */
    boolean isRepeatable() {
        return repeat == Repeat.ALWAYS;
    }

    /** The voucher that must be managed for a repetition, if that is what it takes. */
    @Nullable String managedVoucher() {
        return repeat == Repeat.IF_MANAGED ? arguments.get(0) : null;
    }

    T read(@Nullable Object reply) {
        return reader.apply(reply);
    }

    boolean isTry() {
        return name.startsWith("SECKILL.TRY") || name.equals("SECKILL.MTRY");
    }

    @Override
    public String name() {
        return name;
    }

    @Override
    @Nullable T unanswered() {
        return unanswered;
    }

    @Override
    CompletableFuture<T> start(Sender sender) {
        return sender.call(this);
    }
}
