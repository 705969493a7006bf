package io.github.seckill.client;

import org.jspecify.annotations.Nullable;

/**
 * What became of {@link Commands#draw}.
 *
 * @param code the user's code, or null if none was left
 * @param drawnBefore whether the user had drawn it before
 */
public record Prize(@Nullable String code, boolean drawnBefore) {}
