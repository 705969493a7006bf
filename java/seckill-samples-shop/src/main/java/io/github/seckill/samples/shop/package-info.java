/** A shop that sells with holds, takes payments and keeps rows. */
@NullMarked
package io.github.seckill.samples.shop;

import org.jspecify.annotations.NullMarked;
