/** A server with the module for the tests of an application. */
@NullMarked
package io.github.seckill.spring.test;

import org.jspecify.annotations.NullMarked;
