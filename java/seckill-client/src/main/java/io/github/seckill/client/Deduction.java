package io.github.seckill.client;

/** What became of {@link Commands#deduct}. */
public sealed interface Deduction {
    /**
     * The units are taken.
     *
     * @param stockBefore the stock before; 1 also when the stock is unlimited
     */
    record Taken(long stockBefore) implements Deduction {}

    /** The stock is smaller than the units asked for: nothing changed. */
    record TooFew() implements Deduction {}

    /** The key does not exist. */
    record NoKey() implements Deduction {}

    /** No answer came, and a deduction can't be sent again safely. */
    record Unknown() implements Deduction {}
}
