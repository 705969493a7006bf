-- {prefix} is what --table-prefix says.
--
-- An order of a voucher, as the streams tell it. Moments are unix milliseconds.
CREATE TABLE IF NOT EXISTS {prefix}orders (
    voucher_id   TEXT NOT NULL,
    -- The id of the sale; empty where the server tells none.
    sale_id      TEXT NOT NULL,
    order_id     TEXT NOT NULL,
    user_id      TEXT NOT NULL,
    units        INTEGER NOT NULL CHECK (units > 0),
    state        TEXT NOT NULL
        CHECK (state IN ('held', 'sold', 'cancelled', 'expired', 'rejected')),
    deadline_ms  INTEGER,
    -- The user again while the order is live and its voucher sells to a user once, else null.
    only_user_id TEXT,
    -- The order's entries in the order stream and in that of releases: one each, more where an
    -- unmanaged voucher sold the same id again.
    entry_id     TEXT NOT NULL,
    released_id  TEXT NOT NULL,
    -- The order's entry in the stream of confirmed orders, or a minus, when it is only known
    -- from its release that it was sold.
    confirmed_id TEXT NOT NULL,
    -- The reference of its payment.
    ref          TEXT,
    -- What the server says that contradicts the row.
    disputed     TEXT,
    -- Since when; null once a person has settled it.
    disputed_ms  INTEGER,
    created_ms   INTEGER NOT NULL,
    updated_ms   INTEGER NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX IF NOT EXISTS {prefix}orders_only_user
    ON {prefix}orders (voucher_id, sale_id, only_user_id);

CREATE INDEX IF NOT EXISTS {prefix}orders_disputed
    ON {prefix}orders (disputed_ms) WHERE disputed_ms IS NOT NULL;

-- Has another order the same payment?
CREATE INDEX IF NOT EXISTS {prefix}orders_ref ON {prefix}orders (ref) WHERE ref IS NOT NULL;

-- What is sold of a voucher in a sale: the units of its orders that are held or sold.
CREATE TABLE IF NOT EXISTS {prefix}voucher_sales (
    voucher_id TEXT NOT NULL,
    sale_id    TEXT NOT NULL,
    units      INTEGER NOT NULL,
    -- 1 if the shop's statements were run with its rows, 2 if not, 3 with some of them.
    with_statements INTEGER NOT NULL,
    updated_ms INTEGER NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
) STRICT;

-- Every change of an order after the first, which is in its row, and every payment that changed
-- none. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}order_changes (
    voucher_id TEXT NOT NULL,
    sale_id    TEXT NOT NULL,
    order_id   TEXT NOT NULL,
    -- The stream and the id of the entry, or what else caused it.
    entry      TEXT NOT NULL,
    -- The states; or reduced, disputed, settled, or what a payment was: late, second, unknown.
    to_state   TEXT NOT NULL,
    from_state TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    units      INTEGER NOT NULL,
    ref        TEXT,
    -- What the server said, if that contradicts.
    said       TEXT NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id, entry, to_state)
) STRICT, WITHOUT ROWID;

-- Does a line refund the whole payment?
CREATE INDEX IF NOT EXISTS {prefix}order_changes_whole
    ON {prefix}order_changes (ref) WHERE to_state IN ('late', 'second');

-- Entries that ended without a row: deleted while they were pending, missing before they were read,
-- or kept, given up by a person without releasing their units. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}lost_entries (
    stream     TEXT NOT NULL,
    group_name TEXT NOT NULL,
    -- The entry; of a gap, the last entry that the group had read before it.
    entry_id   TEXT NOT NULL,
    -- deleted, gap, kept
    cause      TEXT NOT NULL,
    -- The entry; of a gap, the first entry after it, or the last that ever was.
    until_id   TEXT NOT NULL,
    -- How many; null if the server can't tell.
    entries    INTEGER,
    -- The order, empty if it is not known.
    voucher_id TEXT NOT NULL,
    sale_id    TEXT NOT NULL,
    order_id   TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (stream, group_name, entry_id, until_id, cause)
) STRICT, WITHOUT ROWID;

-- How far a group had read when a worker last said so: what is missing after that is counted.
CREATE TABLE IF NOT EXISTS {prefix}positions (
    stream     TEXT NOT NULL,
    group_name TEXT NOT NULL,
    entry_id   TEXT NOT NULL,
    -- The last entry that was ever appended, then.
    last_id    TEXT NOT NULL,
    -- How many entries were appended up to these two.
    number     INTEGER NOT NULL,
    added      INTEGER NOT NULL,
    PRIMARY KEY (stream, group_name)
) STRICT, WITHOUT ROWID;

-- The mark that the rows and the server have in common, by the stream of orders and its group: a
-- random word, and how far the group had read each stream when its first worker started.
CREATE TABLE IF NOT EXISTS {prefix}marks (
    stream     TEXT NOT NULL,
    group_name TEXT NOT NULL,
    mark       TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (stream, group_name)
) STRICT, WITHOUT ROWID;

-- Sales that a check has proved when they were over, with what the rows were then.
CREATE TABLE IF NOT EXISTS {prefix}closed_sales (
    voucher_id TEXT NOT NULL,
    sale_id    TEXT NOT NULL,
    units      INTEGER NOT NULL,
    orders     INTEGER NOT NULL,
    digest     TEXT NOT NULL,
    at_ms      INTEGER NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
) STRICT, WITHOUT ROWID;
