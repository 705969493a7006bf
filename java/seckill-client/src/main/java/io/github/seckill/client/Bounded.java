package io.github.seckill.client;

import com.github.benmanes.caffeine.cache.Caffeine;
import java.util.concurrent.ConcurrentMap;

/**
 * What is forgotten when there is too much of it. A class of its own, so that Caffeine is needed
 * only where something is remembered.
 */
final class Bounded {
    private Bounded() {}

    /** Beyond so many entries those that are asked for least are forgotten. */
    static <V> ConcurrentMap<String, V> map(int max) {
        return Caffeine.newBuilder()
                .maximumSize(max).executor(Runnable::run).<String, V>build().asMap();
    }
}
