-- {prefix} is what --table-prefix says.
--
-- An order of a voucher, as the streams tell it. Moments are unix milliseconds. Ids are compared
-- byte by byte, which no collation that MySQL and MariaDB share does: so they are binary, and
-- hold UTF-8.
CREATE TABLE IF NOT EXISTS {prefix}orders (
    voucher_id   VARBINARY(512) NOT NULL,
    -- The id of the sale; empty where the server tells none.
    sale_id      VARBINARY(64)  NOT NULL,
    order_id     VARBINARY(512) NOT NULL,
    user_id      VARBINARY(512) NOT NULL,
    units        BIGINT NOT NULL CHECK (units > 0),
    state        VARCHAR(16) CHARACTER SET ascii NOT NULL
        CHECK (state IN ('held', 'sold', 'cancelled', 'expired', 'rejected')),
    deadline_ms  BIGINT,
    -- The user again while the order is live and its voucher sells to a user once, else null.
    only_user_id VARBINARY(512),
    -- The order's entries in the order stream and in that of releases: one each, more where an
    -- unmanaged voucher sold the same id again.
    entry_id     VARCHAR(2048) CHARACTER SET ascii NOT NULL,
    released_id  VARCHAR(2048) CHARACTER SET ascii NOT NULL,
    -- The order's entry in the stream of confirmed orders, or a minus, when it is only known
    -- from its release that it was sold.
    confirmed_id VARCHAR(64) CHARACTER SET ascii NOT NULL,
    -- The reference of its payment.
    ref          MEDIUMBLOB,
    -- What the server says that contradicts the row.
    disputed     MEDIUMTEXT CHARACTER SET utf8mb4,
    -- Since when; null once a person has settled it.
    disputed_ms  BIGINT,
    created_ms   BIGINT NOT NULL,
    updated_ms   BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id),
    UNIQUE KEY {prefix}orders_only_user (voucher_id, sale_id, only_user_id),
    KEY {prefix}orders_disputed (disputed_ms),
    -- Has another order the same payment?
    KEY {prefix}orders_ref (ref(128))
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- What is sold of a voucher in a sale: the units of its orders that are held or sold.
CREATE TABLE IF NOT EXISTS {prefix}voucher_sales (
    voucher_id VARBINARY(512) NOT NULL,
    sale_id    VARBINARY(64) NOT NULL,
    units      BIGINT NOT NULL,
    -- 1 if the shop's statements were run with its rows, 2 if not, 3 with some of them.
    with_statements BIGINT NOT NULL,
    updated_ms BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Every change of an order after the first, which is in its row, and every payment that changed
-- none. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}order_changes (
    voucher_id VARBINARY(512) NOT NULL,
    sale_id    VARBINARY(64)  NOT NULL,
    order_id   VARBINARY(512) NOT NULL,
    -- The stream and the id of the entry, or what else caused it.
    entry      VARCHAR(96) CHARACTER SET ascii NOT NULL,
    -- The states; or reduced, disputed, settled, or what a payment was: late, second, unknown.
    to_state   VARCHAR(32) CHARACTER SET utf8mb4 NOT NULL,
    from_state VARCHAR(32) CHARACTER SET utf8mb4 NOT NULL,
    at_ms      BIGINT NOT NULL,
    units      BIGINT NOT NULL,
    ref        MEDIUMBLOB,
    -- What the server said, if that contradicts.
    said       MEDIUMTEXT CHARACTER SET utf8mb4 NOT NULL,
    -- The payment again if the line refunds it as a whole.
    whole_ref  VARBINARY(128) AS (IF(to_state IN ('late', 'second'), LEFT(ref, 128), NULL)) VIRTUAL,
    PRIMARY KEY (voucher_id, sale_id, order_id, entry, to_state),
    KEY {prefix}order_changes_whole (whole_ref)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Entries that ended without a row: deleted while they were pending, missing before they were read,
-- or kept, given up by a person without releasing their units. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}lost_entries (
    stream     VARBINARY(512) NOT NULL,
    group_name VARBINARY(512) NOT NULL,
    -- The entry; of a gap, the last entry that the group had read before it.
    entry_id   VARCHAR(64) CHARACTER SET ascii NOT NULL,
    -- deleted, gap, kept
    cause      VARCHAR(32) CHARACTER SET ascii NOT NULL,
    -- The entry; of a gap, the first entry after it, or the last that ever was.
    until_id   VARCHAR(64) CHARACTER SET ascii NOT NULL,
    -- How many; null if the server can't tell.
    entries    BIGINT,
    -- The order, empty if it is not known.
    voucher_id VARBINARY(512) NOT NULL,
    sale_id    VARBINARY(64) NOT NULL,
    order_id   VARBINARY(512) NOT NULL,
    at_ms      BIGINT NOT NULL,
    PRIMARY KEY (stream, group_name, entry_id, until_id, cause)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- How far a group had read when a worker last said so: what is missing after that is counted.
CREATE TABLE IF NOT EXISTS {prefix}positions (
    stream     VARBINARY(512) NOT NULL,
    group_name VARBINARY(512) NOT NULL,
    entry_id   VARCHAR(64) CHARACTER SET ascii NOT NULL,
    -- The last entry that was ever appended, then.
    last_id    VARCHAR(64) CHARACTER SET ascii NOT NULL,
    -- How many entries were appended up to these two.
    number     BIGINT NOT NULL,
    added      BIGINT NOT NULL,
    PRIMARY KEY (stream, group_name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- The mark that the rows and the server have in common, by the stream of orders and its group: a
-- random word, and how far the group had read each stream when its first worker started.
CREATE TABLE IF NOT EXISTS {prefix}marks (
    stream     VARBINARY(512) NOT NULL,
    group_name VARBINARY(512) NOT NULL,
    mark       VARCHAR(256) CHARACTER SET ascii NOT NULL,
    at_ms      BIGINT NOT NULL,
    PRIMARY KEY (stream, group_name)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;

-- Sales that a check has proved when they were over, with what the rows were then.
CREATE TABLE IF NOT EXISTS {prefix}closed_sales (
    voucher_id VARBINARY(512) NOT NULL,
    sale_id    VARBINARY(64)  NOT NULL,
    units      BIGINT NOT NULL,
    orders     BIGINT NOT NULL,
    digest     VARCHAR(256) CHARACTER SET ascii NOT NULL,
    at_ms      BIGINT NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
) ENGINE = InnoDB ROW_FORMAT = DYNAMIC;
