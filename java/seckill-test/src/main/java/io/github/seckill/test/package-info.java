/**
 * Starts redis-server or valkey-server with the seckill module for a test.
 *
 * <p>Depends on no test framework and on no Redis client.
 */
@NullMarked
package io.github.seckill.test;

import org.jspecify.annotations.NullMarked;
