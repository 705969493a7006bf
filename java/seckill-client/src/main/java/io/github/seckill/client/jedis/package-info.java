/** Sends the commands of the seckill module by Jedis. */
@NullMarked
package io.github.seckill.client.jedis;

import org.jspecify.annotations.NullMarked;
