package io.github.seckill.spring.listener;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;

/** Writes any id into a key so that no two triples of ids give the same key. */
final class IdempotencyKeys {
    private IdempotencyKeys() {}

    /** Without colons, which separate, and without spaces. */
    static String escape(String id) {
        return URLEncoder.encode(id, StandardCharsets.UTF_8);
    }
}
