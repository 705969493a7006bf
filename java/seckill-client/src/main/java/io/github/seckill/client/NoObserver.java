package io.github.seckill.client;

/** Looks away. */
enum NoObserver implements SeckillObserver {
    NONE
}
