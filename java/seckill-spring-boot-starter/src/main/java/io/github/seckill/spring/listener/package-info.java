/**
 * Hands the orders of the streams to methods of the application: at least once, one at a time per
 * thread, retried for as long as it takes.
 */
@NullMarked
package io.github.seckill.spring.listener;

import org.jspecify.annotations.NullMarked;
