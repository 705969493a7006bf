package io.github.seckill.client;

import io.github.seckill.client.lettuce.LettuceTransport;
import io.lettuce.core.RedisClient;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;

/** A process that takes a lock and never releases it. */
final class LockHolderMain {
    private LockHolderMain() {}

    public static void main(String[] args) throws InterruptedException {
        RedisClient lettuce = RedisClient.create(args[0]);
        SeckillClient client = SeckillClient.create(LettuceTransport.of(lettuce));
        client.lock(args[1], LockOptions.defaults().lease(Duration.ofHours(1))).lock();
        new CountDownLatch(1).await();
    }
}
