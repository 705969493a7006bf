-- An order of a voucher, as the streams tell it. Moments are unix milliseconds. Ids are compared
-- byte by byte, which no collation that MySQL and MariaDB share does: so they are binary, and
-- hold UTF-8.
CREATE TABLE IF NOT EXISTS orders (
    voucher_id   VARBINARY(512) NOT NULL,
    order_id     VARBINARY(512) NOT NULL,
    user_id      VARBINARY(512) NOT NULL,
    units        BIGINT NOT NULL CHECK (units > 0),
    state        VARCHAR(16) CHARACTER SET ascii NOT NULL
        CHECK (state IN ('held', 'sold', 'cancelled', 'expired', 'rejected')),
    deadline_ms  BIGINT,
    -- The user again while the order is live and its voucher sells to a user once, else null.
    only_user_id VARBINARY(512),
    -- The order's entries in the order stream and in that of give-backs: one each, more where an
    -- unmanaged voucher sold the same id again.
    entry_id     VARCHAR(2048) CHARACTER SET ascii NOT NULL,
    released_id  VARCHAR(2048) CHARACTER SET ascii NOT NULL,
    created_ms   BIGINT NOT NULL,
    updated_ms   BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, order_id),
    UNIQUE KEY orders_only_user (voucher_id, only_user_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What is sold of a voucher: the units of its orders that are held or sold.
CREATE TABLE IF NOT EXISTS voucher_sales (
    voucher_id VARBINARY(512) NOT NULL PRIMARY KEY,
    units      BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
