package io.github.seckill.client;

/** Whether tries that are made at the same time on one voucher travel as one SECKILL.MTRY. */
public enum Coalescing {
    /** Every try is a command of its own. */
    OFF,
    /**
     * A try is sent at once when none of its voucher is under way. Those that come meanwhile travel
     * together as soon as its answer is there: no try waits for others to come.
     */
    AUTO,
    /**
     * A try waits for others, for {@link SeckillOptions#coalescingWindow} and while the batch
     * before is under way.
     */
    ON
}
