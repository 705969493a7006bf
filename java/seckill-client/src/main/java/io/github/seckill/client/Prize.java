package io.github.seckill.client;

/** What became of {@link Commands#draw}. */
public sealed interface Prize {
    /** The user has drawn a code. */
    record Drawn(String code) implements Prize {}

    /** The user had drawn before, and this is their code again. */
    record DrawnBefore(String code) implements Prize {}

    /** No code is left. */
    record Empty() implements Prize {}
}
