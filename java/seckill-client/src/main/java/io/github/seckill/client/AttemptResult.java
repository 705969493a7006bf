package io.github.seckill.client;

/** What became of one try of {@link Commands#tryAll(String, java.util.List)}. */
public sealed interface AttemptResult {
    /** The try has an outcome. */
    record Decided(Outcome outcome) implements AttemptResult {}

    /**
     * This try was a mistake; the other tries of the batch were decided anyway.
     *
     * @param mistake what is wrong with it
     */
    record Mistaken(SeckillException mistake) implements AttemptResult {}
}
