-- The worker's tables, for all databases: {prefix} is what --table-prefix says, the other words in
-- braces are kinds of columns (src/worker/store/migrate.rs). A line that begins with the name of a
-- database is for this one alone. Moments are unix milliseconds.
--
-- An order of a voucher, as the streams tell it.
CREATE TABLE IF NOT EXISTS {prefix}orders (
    voucher_id   {id 512} NOT NULL,
    -- The id of the sale; empty where the server tells none.
    sale_id      {id 64} NOT NULL,
    order_id     {id 512} NOT NULL,
    user_id      {id 512} NOT NULL,
    units        {number} NOT NULL CHECK (units > 0),
    state        {word 16} NOT NULL
        CHECK (state IN ('held', 'sold', 'cancelled', 'expired', 'rejected')),
    deadline_ms  {number},
    -- The user again while the order is live and its voucher sells to a user once, else null.
    only_user_id {id 512},
    -- The order's entries in the order stream and in that of releases: one each, more where an
    -- unmanaged voucher sold the same id again.
    entry_id     {word 2048} NOT NULL,
    released_id  {word 2048} NOT NULL,
    -- The order's entry in the stream of confirmed orders, or a minus, when it is only known
    -- from its release that it was sold.
    confirmed_id {word 64} NOT NULL,
    -- The reference of its payment.
    ref          {ref},
    -- What the server says that contradicts the row.
    disputed     {text},
    -- Since when; null once a person has settled it.
    disputed_ms  {number},
    created_ms   {number} NOT NULL,
    updated_ms   {number} NOT NULL,
mysql:    -- The deadline again while the order is held: MySQL has no index of some rows.
mysql:    held_until   BIGINT AS (IF(state = 'held', deadline_ms, NULL)) VIRTUAL,
mysql:    UNIQUE KEY {prefix}orders_only_user (voucher_id, sale_id, only_user_id),
mysql:    KEY {prefix}orders_disputed (disputed_ms, held_until),
mysql:    KEY {prefix}orders_ref (ref(128)),
    PRIMARY KEY (voucher_id, sale_id, order_id)
){end};

-- The user first: for a voucher that is not in its statistics, PostgreSQL expects a single row of
-- any index that begins with voucher and sale, and would read all of them for each order.
postgres:CREATE UNIQUE INDEX IF NOT EXISTS {prefix}orders_only_user
postgres:    ON {prefix}orders (only_user_id, voucher_id, sale_id);
sqlite:CREATE UNIQUE INDEX IF NOT EXISTS {prefix}orders_only_user
sqlite:    ON {prefix}orders (voucher_id, sale_id, only_user_id);

-- MySQL's are in its tables.
others:CREATE INDEX IF NOT EXISTS {prefix}orders_disputed
others:    ON {prefix}orders (disputed_ms) WHERE disputed_ms IS NOT NULL;

-- Which held orders should be over?
others:CREATE INDEX IF NOT EXISTS {prefix}orders_held
others:    ON {prefix}orders (deadline_ms) WHERE state = 'held';

-- Has another order the same payment?
others:CREATE INDEX IF NOT EXISTS {prefix}orders_ref ON {prefix}orders (ref) WHERE ref IS NOT NULL;

-- What is sold of a voucher in a sale: the units of its orders that are held or sold.
CREATE TABLE IF NOT EXISTS {prefix}voucher_sales (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    units      {number} NOT NULL,
    -- 1 if the shop's statements were run with its rows, 2 if not, 3 with some of them.
    with_statements {number} NOT NULL,
    updated_ms {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
){end};

-- Every change of an order after the first, which is in its row, and every payment that changed
-- none. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}order_changes (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    order_id   {id 512} NOT NULL,
    -- The stream and the id of the entry, or what else caused it.
    entry      {word 96} NOT NULL,
    -- The states; or reduced, disputed, settled, or what a payment was: late, second, unknown.
    to_state   {word 32} NOT NULL,
    from_state {word 32} NOT NULL,
    at_ms      {number} NOT NULL,
    units      {number} NOT NULL,
    ref        {ref},
    -- What the server said, if that contradicts.
    said       {text} NOT NULL,
mysql:    -- The payment again if the line refunds it as a whole.
mysql:    whole_ref  VARBINARY(128)
mysql:        AS (IF(to_state IN ('late', 'second'), LEFT(ref, 128), NULL)) VIRTUAL,
mysql:    KEY {prefix}order_changes_whole (whole_ref),
    PRIMARY KEY (voucher_id, sale_id, order_id, entry, to_state)
){end};

-- Does a line refund the whole payment?
others:CREATE INDEX IF NOT EXISTS {prefix}order_changes_whole
others:    ON {prefix}order_changes (ref) WHERE to_state IN ('late', 'second');

-- Entries that ended without a row: deleted while they were pending, missing before they were read,
-- or kept, given up by a person without releasing their units. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}lost_entries (
    stream     {id 512} NOT NULL,
    group_name {id 512} NOT NULL,
    -- The entry; of a gap, the last entry that the group had read before it.
    entry_id   {word 64} NOT NULL,
    -- deleted, gap, kept
    cause      {word 32} NOT NULL,
    -- The entry; of a gap, the first entry after it, or the last that ever was.
    until_id   {word 64} NOT NULL,
    -- How many; null if the server can't tell.
    entries    {number},
    -- The order, empty if it is not known.
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    order_id   {id 512} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (stream, group_name, entry_id, until_id, cause)
){end};

-- How far a group had read when a worker last said so: what is missing after that is counted.
CREATE TABLE IF NOT EXISTS {prefix}positions (
    stream     {id 512} NOT NULL,
    group_name {id 512} NOT NULL,
    entry_id   {word 64} NOT NULL,
    -- The last entry that was ever appended, then.
    last_id    {word 64} NOT NULL,
    -- How many entries were appended up to these two.
    number     {number} NOT NULL,
    added      {number} NOT NULL,
    PRIMARY KEY (stream, group_name)
){end};

-- The mark that the rows and the server have in common, by the stream of orders and its group: a
-- random word, and how far the group had read each stream when its first worker started.
CREATE TABLE IF NOT EXISTS {prefix}marks (
    stream     {id 512} NOT NULL,
    group_name {id 512} NOT NULL,
    mark       {word 256} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (stream, group_name)
){end};

-- Sales that a check has proved when they were over, with what the rows were then.
CREATE TABLE IF NOT EXISTS {prefix}closed_sales (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    units      {number} NOT NULL,
    orders     {number} NOT NULL,
    digest     {word 256} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
){end};
