/**
 * Flash sales and locks by the commands of the seckill module, over Lettuce.
 *
 * <p>{@link io.github.seckill.client.SeckillClient} is where to begin. What a buyer can run into is
 * an {@link io.github.seckill.client.Outcome} or another value; what a developer or an operator has
 * to fix is a {@link io.github.seckill.client.SeckillException}.
 *
 * <p>Ids of users, vouchers and orders are texts. They are sent as UTF-8 and never read as numbers.
 */
@NullMarked
package io.github.seckill.client;

import org.jspecify.annotations.NullMarked;
