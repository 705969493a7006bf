//! What an operator can set: one static a configuration, and the table of all of them.

use domain::order_id::Calendar;
use domain::rejection::LETTER_PREFIX;
use domain::sale::Policy;
use crate::server::{Choice, MainThread, Number, Setting, Text};

/// What comes before the voucher in the name of its stock key.
pub(crate) static STOCK_PREFIX: Text =
    Text::new(c"stock-prefix", c"seckill:stock:", any_text, changed);

/// What comes before the voucher in the name of its buyers key.
pub(crate) static BUYERS_PREFIX: Text =
    Text::new(c"buyers-prefix", c"seckill:order:", any_text, changed);

/// The stream of accepted orders. Empty: none is kept.
pub(crate) static ORDER_STREAM: Text =
    Text::new(c"order-stream", c"stream.orders", any_text, changed);

/// The names of the three fields of an order: user, voucher, order id.
pub(crate) static ORDER_FIELDS: Text =
    Text::new(c"order-fields", c"userId voucherId id", order_fields, changed);

/// The stream of draws. Empty: none is kept.
pub(crate) static DRAW_STREAM: Text = Text::new(c"draw-stream", c"stream.draws", any_text, changed);

static HASH_TAGS: Choice = Choice::new(c"hash-tags", &[c"auto", c"yes", c"no"], changed);

static MISSING_STOCK: Choice = Choice::new(c"missing-stock", &[c"error", c"sold-out"], changed);

static UNLIMITED_STOCK: Choice = Choice::new(c"unlimited-stock", &[c"no", c"yes"], changed);

/// What generated ids of orders are counted under.
pub(crate) static ID_PREFIX: Text = Text::new(c"id-prefix", c"order", any_text, changed);

/// The unix second that ids count from; 2022-01-01 is where the usual Java generator starts.
static ID_EPOCH: Number = Number::new(c"id-epoch", 1_640_995_200, 0..=4_294_967_295, changed);

static ID_UTC_OFFSET: Number = Number::new(c"id-utc-offset", 0, -86_400..=86_400, changed);

/// How long the timer that gives back expired holds sleeps at most, in ms.
static HOLD_SWEEP_MS: Number = Number::new(c"hold-sweep-ms", 50, 1..=100, changed);

/// Ten years: what is added to any time of day without leaving 64 bits.
const MS_MAX: i64 = 315_360_000_000;

/// The longest lease that may be asked for.
pub(crate) static LOCK_LEASE_MS_MAX: Number =
    Number::new(c"lock-lease-ms-max", 86_400_000, 1..=MS_MAX, changed);

/// The longest wait that may be asked for.
pub(crate) static LOCK_WAIT_MS_MAX: Number =
    Number::new(c"lock-wait-ms-max", 3_600_000, 0..=MS_MAX, changed);

/// Every configuration, in the order of redis.conf.
pub(crate) static SETTINGS: [&dyn Setting; 14] = [
    &STOCK_PREFIX,
    &BUYERS_PREFIX,
    &ORDER_STREAM,
    &ORDER_FIELDS,
    &DRAW_STREAM,
    &HASH_TAGS,
    &MISSING_STOCK,
    &UNLIMITED_STOCK,
    &ID_PREFIX,
    &ID_EPOCH,
    &ID_UTC_OFFSET,
    &HOLD_SWEEP_MS,
    &LOCK_LEASE_MS_MAX,
    &LOCK_WAIT_MS_MAX,
];

/// Counts the changes of configurations, so that what was made of one is known to be stale.
static GENERATION: MainThread<u64> = MainThread::new(0);

fn changed() {
    GENERATION.set(generation().wrapping_add(1));
}

/// Differs from an earlier answer when a configuration was set in between.
pub(crate) fn generation() -> u64 {
    GENERATION.get()
}

static IS_CLUSTER: MainThread<bool> = MainThread::new(false);

/// Remembers whether the server is a node of a cluster, which never changes while it runs.
pub(crate) fn set_cluster(is_cluster: bool) {
    IS_CLUSTER.set(is_cluster);
}

pub(crate) fn is_cluster() -> bool {
    IS_CLUSTER.get()
}

/// Do names of keys carry hash tags? In a cluster always: without them a voucher's keys would be
/// in slots of different nodes.
pub(crate) fn hash_tags() -> bool {
    is_cluster() || HASH_TAGS.index() == 1
}

/// How long the timer of holds sleeps at most, in ms.
pub(crate) fn hold_sweep_ms() -> u64 {
    u64::try_from(HOLD_SWEEP_MS.get()).unwrap_or(1)
}

/// How odd stocks are to be understood.
pub(crate) fn policy() -> Policy {
    Policy {
        missing_is_sold_out: MISSING_STOCK.index() == 1,
        minus_one_is_unlimited: UNLIMITED_STOCK.index() == 1,
    }
}

/// How ids count seconds and days.
pub(crate) fn calendar() -> Calendar {
    Calendar { epoch_s: ID_EPOCH.get(), utc_offset_s: ID_UTC_OFFSET.get() }
}

fn any_text(_: &[u8]) -> Result<(), &'static str> {
    Ok(())
}

/// Field names that an entry may carry beside the three.
const RESERVED_FIELDS: [&[u8]; 3] = [b"units", b"deadline", b"reason"];

fn order_fields(text: &[u8]) -> Result<(), &'static str> {
    let words: Vec<&[u8]> = text.split(|byte| *byte == b' ').collect();
    let [user, voucher, id] = words.as_slice() else {
        return Err("must be three words with one space between");
    };
    if [user, voucher, id].iter().any(|word| word.is_empty()) {
        return Err("must be three words with one space between");
    }
    if user == voucher || voucher == id || user == id {
        return Err("must be three different words");
    }
    if words.iter().any(|word| RESERVED_FIELDS.contains(word)) {
        return Err("must not use units, deadline or reason, which are fields of their own");
    }
    if words.iter().any(|word| word.starts_with(LETTER_PREFIX)) {
        return Err("must not begin with dlq, as the fields of dead letters do");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::order_fields;

    #[test]
    fn order_fields_are_three_different_words() {
        assert_eq!(order_fields(b"userId voucherId id"), Ok(()));
        assert_eq!(order_fields(b"u v \xff"), Ok(()));
        for text in [
            &b""[..],
            b"a",
            b"a b",
            b"a b c d",
            b"a  b",
            b" a b",
            b"a b ",
            b"a b a",
            b"a a b",
            b"a b b",
            b"units b c",
            b"a deadline c",
            b"a b dlqId",
        ] {
            assert!(order_fields(text).is_err(), "{:?}", String::from_utf8_lossy(text));
        }
    }
}
