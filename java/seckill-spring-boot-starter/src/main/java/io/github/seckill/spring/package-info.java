/** Flash sales and locks in a Spring application. */
@NullMarked
package io.github.seckill.spring;

import org.jspecify.annotations.NullMarked;
