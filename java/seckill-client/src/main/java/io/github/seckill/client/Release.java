package io.github.seckill.client;

/** What else is said of units that are released. For managed vouchers. */
public enum Release {
    /** They leave the sale, and nobody else gets them: a unit is broken, or was never there. */
    NORESTOCK,
    /**
     * They are refunded already, and nobody refunds them again. Only of a sold order that has a
     * payment's reference: any other is {@link Cancellation#OTHER_STATE}.
     */
    REFUNDED
}
