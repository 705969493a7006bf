/** Sends the commands of the seckill module by Lettuce. */
@NullMarked
package io.github.seckill.client.lettuce;

import org.jspecify.annotations.NullMarked;
