/** Locks of the module for Spring Integration. */
@NullMarked
package io.github.seckill.spring.lock;

import org.jspecify.annotations.NullMarked;
