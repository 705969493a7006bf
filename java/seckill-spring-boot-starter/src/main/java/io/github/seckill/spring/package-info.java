/**
 * Auto-configuration for Spring Boot 3 and 4, and listeners: they hand the orders of the streams to
 * methods of the application, at least once, one at a time per thread, retried for as long as it
 * takes.
 */
@NullMarked
package io.github.seckill.spring;

import org.jspecify.annotations.NullMarked;
