-- The worker's tables, for all databases: {prefix} is what --table-prefix says, the other words in
-- braces are kinds of columns (src/worker/store/migrate.rs). A line that begins with the name of a database is
-- for this one alone. Moments are unix milliseconds.
--
-- An order of a voucher: the join of what its entries say. The first nine columns are for readers.
CREATE TABLE IF NOT EXISTS {prefix}orders (
    voucher_id   {id 512} NOT NULL,
    -- The id of the sale; empty where the server tells none.
    sale_id      {id 64} NOT NULL,
    order_id     {id 512} NOT NULL,
    user_id      {id 512} NOT NULL,
    -- The units that it has: 0 once it is released.
    units        {number} NOT NULL CHECK (units >= 0),
    -- unknown: only a payment or a release of it is known.
    state        {word 16} NOT NULL
        CHECK (state IN ('held', 'sold', 'cancelled', 'expired', 'rejected', 'unknown')),
    deadline_ms  {number},
    -- The reference of its payment.
    ref          {ref},
    -- What contradicts in what is known of it, a letter each, until it is resolved.
    conflict     {word 16},
    -- The join itself, as an array in JSON. The most units that were asked for and sold; the fewest
    -- that it was reduced to while it was held and after it was sold, and that were asked for and
    -- confirmed; the entry that accepted it, or a plus if there were several, or a minus if only
    -- the server's book tells, of an unmanaged voucher all of them; the same of confirmations
    -- without a reference; the entries that released it, of an unmanaged voucher; 1 if it was sold
    -- at once, 2 if its units left the stock, and why it was released; what the statements of the
    -- shop have written, the state and the units; how many rulings there were.
    joined       {text} NOT NULL,
    -- The last ruling while it may stand, as JSON.
    ruling       {text},
    created_ms   {number} NOT NULL,
    updated_ms   {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id, user_id)
){end};

-- A payment of an order, by its reference: which of its units have which home. Sets of units are
-- ranges: 1-2,5-5.
CREATE TABLE IF NOT EXISTS {prefix}payments (
    ref          {id 512} NOT NULL,
    voucher_id   {id 512} NOT NULL,
    sale_id      {id 64} NOT NULL,
    order_id     {id 512} NOT NULL,
    user_id      {id 512} NOT NULL,
    -- How many units were paid; null if nobody has said that.
    units        {number},
    -- The entry of the confirmation, or a plus, or a minus.
    confirmed    {word 64} NOT NULL,
    -- 1 it paid the order, 2 late, 4 duplicate, 8 unmatched, 16 of an order that was released, 32
    -- it is another order's, 64 said to be of several numbers of units, 128 of so many by an
    -- operator.
    flags        {number} NOT NULL,
    -- The most units that the order had when it was paid, and what was said of the payment's.
    had          {number} NOT NULL,
    stated       {number},
    -- Units that were released, that were refunded elsewhere by an entry and by a ruling, and that
    -- are in the table of refunds.
    released     {text} NOT NULL,
    elsewhere    {text} NOT NULL,
    ruled_elsewhere {text} NOT NULL,
    refunded     {text} NOT NULL,
    updated_ms   {number} NOT NULL,
mysql:    KEY {prefix}payments_order (voucher_id, sale_id, order_id),
    PRIMARY KEY (ref, voucher_id, sale_id, order_id, user_id)
){end};

-- MySQL's are in its tables.
others:CREATE INDEX IF NOT EXISTS {prefix}payments_order
others:    ON {prefix}payments (voucher_id, sale_id, order_id);

-- Whoever writes a payment locks its reference here first. Units that the shop has refunded beyond
-- what was due, and that an operator has acknowledged.
CREATE TABLE IF NOT EXISTS {prefix}payment_refs (
    ref    {id 512} NOT NULL,
    beyond {number} NOT NULL,
    PRIMARY KEY (ref)
){end};

-- What is to be refunded: units of a payment, from the first to the last. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}refunds (
    ref        {id 512} NOT NULL,
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    order_id   {id 512} NOT NULL,
    user_id    {id 512} NOT NULL,
    first_unit {number} NOT NULL,
    last_unit  {number} NOT NULL,
    -- How many; null of a whole payment whose number of units nobody has said.
    units      {number},
    -- released, late, duplicate, unmatched
    why        {word 32} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (ref, voucher_id, sale_id, order_id, user_id, first_unit)
){end};

-- What entries said of an order, but for those that its row, or that of its payment, names: which
-- accepted and confirmed it, unless there were several. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}order_changes (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    order_id   {id 512} NOT NULL,
    user_id    {id 512} NOT NULL,
    -- The stream and the id.
    entry      {word 96} NOT NULL,
    -- accepted, confirmed, reduced, cancelled, expired, rejected; or of a payment late, duplicate,
    -- unmatched, released.
    says       {word 32} NOT NULL,
    -- How many units the order had, or were released; and what was kept.
    units      {number} NOT NULL,
    kept       {number},
    ref        {ref},
    -- How many units the payment is for, if that was said.
    paid       {number},
    -- norestock, refunded
    how        {word 32} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id, user_id, entry)
){end};

-- What was ruled of an order, by an operator or by a check. Lines are only appended.
CREATE TABLE IF NOT EXISTS {prefix}rulings (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    order_id   {id 512} NOT NULL,
    user_id    {id 512} NOT NULL,
    number     {number} NOT NULL,
    ruled_by   {text} NOT NULL,
    ruling     {text} NOT NULL,
    at_ms      {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id, order_id, user_id, number)
){end};

-- What is sold of a voucher in a sale: the units of its orders that are held or sold; and how many
-- of its orders have a conflict, so that nobody looks for these among all.
CREATE TABLE IF NOT EXISTS {prefix}voucher_sales (
    voucher_id {id 512} NOT NULL,
    sale_id    {id 64} NOT NULL,
    units      {number} NOT NULL,
    conflicts  {number} NOT NULL,
    -- 1 once a check has found this sale consistent after its end.
    is_closed  {number} NOT NULL,
    updated_ms {number} NOT NULL,
    PRIMARY KEY (voucher_id, sale_id)
){end};

-- The consumer group of a stream of orders: the id that it has in common with these tables, the run
-- of the server that was last read, how many entries were deleted unread, and why the group is not
-- checked, if it is not.
CREATE TABLE IF NOT EXISTS {prefix}groups (
    stream     {id 512} NOT NULL,
    group_name {id 512} NOT NULL,
    pairing_id {word 160} NOT NULL,
    run_id     {word 64} NOT NULL,
    deleted    {number} NOT NULL,
    unchecked  {text},
    at_ms      {number} NOT NULL,
    PRIMARY KEY (stream, group_name)
){end};

-- What a worker remembers of its own: the events of the shop's statements that were run.
CREATE TABLE IF NOT EXISTS {prefix}settings (
    name  {word 64} NOT NULL,
    value {text} NOT NULL,
    PRIMARY KEY (name)
){end};
