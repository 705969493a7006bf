package io.github.seckill.client;

import java.util.List;

/**
 * What became of a cart.
 *
 * @param outcomes that of each article, in their order. {@link Outcome#NOT_TAKEN} are those that
 *     could be had, if others can't; {@link Outcome#RELEASED} those of a cart that was bought, which
 *     have been released since. All are {@link Outcome#UNKNOWN} if no answer came
 */
public record CartResult(List<Outcome> outcomes) {
    public CartResult {
        outcomes = List.copyOf(outcomes);
    }

    /** Whether all articles are the user's: sold, or held until one deadline. */
    public boolean isBought() {
        return outcomes.stream().allMatch(outcome -> outcome == Outcome.ACCEPTED);
    }
}
