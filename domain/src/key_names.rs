//! The names of all keys: the defaults of the settings, the fixed prefixes, and how a voucher, a
//! pool, a lock or a stream is written in the names derived from it.

use crate::hash_tag::{StrayBraces, Tagged, tag_of, tagged};

/// Default of `seckill.stock-prefix`: units left, a string.
pub const STOCK_PREFIX: &str = "seckill:stock:";
/// Default of `seckill.buyers-prefix`: users with a unit, a set.
pub const BUYERS_PREFIX: &str = "seckill:order:";
/// Default of `seckill.order-stream`: accepted orders.
pub const ORDER_STREAM: &str = "stream.orders";
/// Default of `seckill.draw-stream`: draws of prizes.
pub const DRAW_STREAM: &str = "stream.draws";

/// The prefixes before the voucher in the names of a managed voucher's keys.
pub const RULES_PREFIX: &[u8] = b"seckill:voucher:";
pub const BOOK_PREFIX: &[u8] = b"seckill:book:";
pub const UNITS_PREFIX: &[u8] = b"seckill:units:";
pub const HOLDS_PREFIX: &[u8] = b"seckill:hold:";
/// Units of held orders beyond the first of each, a string; absent while every held order has one.
pub const EXTRA_PREFIX: &[u8] = b"seckill:extra:";
/// Orders that wait for units, by ticket, a sorted set.
pub const WAIT_PREFIX: &[u8] = b"seckill:wait:";
/// Payments by reference, a hash. Outlives the sale, so that none pays twice.
pub const PAYMENTS_PREFIX: &[u8] = b"seckill:payments:";
/// Units by order, as [`outside_field`] names it, that were taken off the sale for orders that the
/// book lacks, a hash.
pub const OUTSIDE_PREFIX: &[u8] = b"seckill:outside:";
/// The id of the last sale, a string. Outlives it, so that ids grow whatever the clock says.
pub const LAST_PREFIX: &[u8] = b"seckill:last:";

/// The prefixes before the pool in the names of its keys.
pub const CODES_PREFIX: &[u8] = b"seckill:codes:";
pub const WINNERS_PREFIX: &[u8] = b"seckill:winners:";
/// The prefix before a shard of a sale, in braces, in the name of its journal of moved units.
pub const JOURNAL_PREFIX: &[u8] = b"seckill:shard:";
/// The beginning of the name of an id counter; the prefix of the generated ids follows.
pub const COUNTER_PREFIX: &[u8] = b"icr:";

/// The prefixes of a managed voucher that no setting changes.
const SALE_PREFIXES: [&[u8]; 9] = [
    RULES_PREFIX, BOOK_PREFIX, UNITS_PREFIX, HOLDS_PREFIX, EXTRA_PREFIX, WAIT_PREFIX,
    PAYMENTS_PREFIX, OUTSIDE_PREFIX, LAST_PREFIX,
];

/// The other prefixes that no setting changes.
const OTHERS: [&[u8]; 4] = [CODES_PREFIX, WINNERS_PREFIX, JOURNAL_PREFIX, COUNTER_PREFIX];

/// The suffix of the order stream's name for the stream of releases.
const RELEASED_SUFFIX: &[u8] = b".released";
/// The suffix of the order stream's name for the stream of confirmed orders.
const CONFIRMED_SUFFIX: &[u8] = b".confirmed";
/// The suffix of a stream's name for its dead letters.
pub const DEAD_LETTERS_SUFFIX: &[u8] = b".dlq";
/// The suffix of a lock's name for its fence key.
pub const FENCE_SUFFIX: &[u8] = b":fence";

/// How a voucher or a pool is written in the names of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming<'o> {
    /// As it is, without hash tags.
    Plain(&'o [u8]),
    /// Unchanged, since it contains a hash tag.
    OwnTag { owner: &'o [u8], tag: &'o [u8] },
    /// In braces.
    Wrapped(&'o [u8]),
}

impl<'o> Naming<'o> {
    /// An error if hash tags are on and the owner's braces would place its keys in another slot
    /// than the owner itself.
    pub fn of(owner: &'o [u8], hash_tags: bool) -> Result<Self, StrayBraces> {
        if !hash_tags {
            return Ok(Self::Plain(owner));
        }
        Ok(match tagged(owner)? {
            Tagged::Own { tag } => Self::OwnTag { owner, tag },
            Tagged::Wrapped => Self::Wrapped(owner),
        })
    }

    /// The name of a key that belongs to this owner alone.
    pub fn key(self, prefix: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain(owner) | Self::OwnTag { owner, .. } => [prefix, owner].concat(),
            Self::Wrapped(owner) => [prefix, b"{", owner, b"}"].concat(),
        }
    }

    /// The name of a stream. All owners with one hash tag share a stream; without hash tags, all
    /// owners do.
    pub fn stream(self, name: &[u8]) -> Vec<u8> {
        match self {
            Self::Plain(_) => name.to_vec(),
            Self::OwnTag { tag, .. } | Self::Wrapped(tag) => [name, b":{", tag, b"}"].concat(),
        }
    }

    /// The name of the stream of releases that belongs to an order stream.
    pub fn released_stream(self, order_stream: &[u8]) -> Vec<u8> {
        self.stream(&[order_stream, RELEASED_SUFFIX].concat())
    }

    /// The name of the stream of confirmed orders that belongs to an order stream.
    pub fn confirmed_stream(self, order_stream: &[u8]) -> Vec<u8> {
        self.stream(&[order_stream, CONFIRMED_SUFFIX].concat())
    }
}

/// An order of a user among the units outside of a sale. After a loss two users may have orders of
/// one id: `5:alice:1001`, with the length of the user in bytes.
pub fn outside_field(user: &[u8], id: &[u8]) -> Vec<u8> {
    [user.len().to_string().as_bytes(), b":", user, b":", id].concat()
}

/// The name of a key that accompanies another: the fence key of a lock, the dead letters of a
/// stream. With hash tags on, it is in the slot of that key.
pub fn companion(key: &[u8], suffix: &[u8], hash_tags: bool) -> Result<Vec<u8>, StrayBraces> {
    Ok(match Naming::of(key, hash_tags)? {
        Naming::Plain(_) | Naming::OwnTag { .. } => [key, suffix].concat(),
        Naming::Wrapped(_) => [b"{", key, b"}", suffix].concat(),
    })
}

/// Could this be the name of a stream of confirmed orders, whatever the order stream is called?
pub fn is_confirmed_name(stream: &[u8]) -> bool {
    is_derived_by(stream, CONFIRMED_SUFFIX)
}

/// Refuses names of the streams of orders and of draws with which an entry would be in a stream of
/// other entries. An empty name means no stream.
pub fn check_streams(orders: &[u8], draws: &[u8]) -> Result<(), &'static str> {
    if [orders, draws].into_iter().any(is_derived_stream) {
        return Err("must not end in .released, .confirmed or .dlq, as streams derived from it do");
    }
    if orders == draws && !orders.is_empty() {
        return Err("must not name the same stream for orders and draws");
    }
    Ok(())
}

/// Refuses settings with which a key of every voucher would have the name of another kind of key.
pub fn check_kinds(
    [stock, buyers]: [&[u8]; 2],
    streams: [&[u8]; 2],
    hash_tags: bool,
) -> Result<(), &'static str> {
    if stock == buyers {
        return Err("must not be the prefix of stock keys and of buyers keys alike");
    }
    let (voucher, tag): (&[u8], &[u8]) = if hash_tags { (b"{v}", b":{v}") } else { (b"v", b"") };
    let is_own = |name: [&[u8]; 2], streams| is_own_name(&name.concat(), [b"", b""], streams);
    if [stock, buyers].into_iter().any(|prefix| is_own([prefix, voucher], streams))
        || streams.into_iter().any(|stream| is_own([stream, tag], [b"", b""]))
    {
        return Err("must not make names that other keys of this module have");
    }
    Ok(())
}

/// Could this be the name of a stream that belongs to another stream, with or without a hash tag?
fn is_derived_stream(stream: &[u8]) -> bool {
    let mut suffixes = [RELEASED_SUFFIX, CONFIRMED_SUFFIX, DEAD_LETTERS_SUFFIX].into_iter();
    suffixes.any(|suffix| is_derived_by(stream, suffix))
}

/// Does the name end in the suffix, or in the suffix and a hash tag?
fn is_derived_by(stream: &[u8], suffix: &[u8]) -> bool {
    let before_tag = [suffix, b":{"].concat();
    let has_tag = || stream.windows(before_tag.len()).any(|part| part == before_tag);
    stream.ends_with(suffix) || stream.ends_with(b"}") && has_tag()
}

/// Could this be the name of a key that commands for sales, prizes or ids create? `prefixes` and
/// `streams` are those of the settings; an empty one names nothing.
pub fn is_own_name(key: &[u8], prefixes: [&[u8]; 2], streams: [&[u8]; 2]) -> bool {
    let begins = |prefix: &[u8]| !prefix.is_empty() && key.starts_with(prefix);
    // The stream itself, or with a suffix such as `.dlq` or a hash tag.
    let is_of = |stream: &[u8]| {
        let rest = key.strip_prefix(stream).filter(|_| !stream.is_empty());
        rest.is_some_and(|rest| {
            rest.is_empty() || rest.starts_with(b".") || rest.starts_with(b":{")
        })
    };
    SALE_PREFIXES.into_iter().chain(OTHERS).chain(prefixes).any(begins)
        || streams.into_iter().any(is_of)
}

/// Why a lock may not have a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLockName {
    /// It is that of a lock's fence key, whose tokens would be used up, or start over, by it.
    Fence,
    /// It, or the name of its fence key, could be that of a key of sales, prizes or ids, which
    /// would be made, changed or deleted.
    Own,
}

/// May a lock have this name? The arguments are those of [`is_own_name`] and [`companion`].
pub fn check_lock_name(
    key: &[u8],
    hash_tags: bool,
    prefixes: [&[u8]; 2],
    streams: [&[u8]; 2],
) -> Result<(), BadLockName> {
    if key.ends_with(FENCE_SUFFIX) {
        return Err(BadLockName::Fence);
    }
    let is_own = |name: &[u8]| is_own_name(name, prefixes, streams);
    // A lock whose fence key would be in another slot has none.
    let fence = companion(key, FENCE_SUFFIX, hash_tags).unwrap_or_default();
    if is_own(key) || is_own(&fence) { Err(BadLockName::Own) } else { Ok(()) }
}

/// Could this be the name of a rules key?
pub fn is_rules_name(key: &[u8]) -> bool {
    key.starts_with(RULES_PREFIX)
}

/// The name of the rules of the managed voucher whose key this could be.
pub fn rules_name_beside(key: &[u8]) -> Option<Vec<u8>> {
    voucher_beside(key).map(|voucher| [RULES_PREFIX, voucher].concat())
}

/// Could this be the name of a key that only managed vouchers have?
pub fn is_sale_name(key: &[u8]) -> bool {
    voucher_beside(key).is_some()
}

/// What follows the prefix in the name of a key that only managed vouchers have: the voucher, as it
/// is written in the names of keys.
pub fn voucher_beside(key: &[u8]) -> Option<&[u8]> {
    SALE_PREFIXES.into_iter().find_map(|prefix| key.strip_prefix(prefix))
}

/// The keys that a timer looks at: holds, and queues.
const TIMED_PREFIXES: [&[u8]; 2] = [HOLDS_PREFIX, WAIT_PREFIX];

/// A pattern of SCAN for all keys that a timer looks at, and few others.
pub const TIMED_PATTERN: &[u8] = b"seckill:[hw][oa][li][dt]:*";

/// Could this be the name of a key that a timer looks at?
pub fn is_timed_name(key: &[u8]) -> bool {
    TIMED_PREFIXES.into_iter().any(|prefix| key.starts_with(prefix))
}

/// Could this be the name of a queue?
pub fn is_wait_name(key: &[u8]) -> bool {
    key.starts_with(WAIT_PREFIX)
}

/// The names of the keys that a timer looks at for the voucher whose rules have this name.
pub fn timed_names_of_rules(key: &[u8]) -> Option<[Vec<u8>; 2]> {
    let voucher = key.strip_prefix(RULES_PREFIX)?;
    Some(TIMED_PREFIXES.map(|prefix| [prefix, voucher].concat()))
}

/// The voucher whose holds or queue has this name. With hash tags on, `{7}` and `7` have the same
/// keys; the result is `7`.
pub fn voucher_of_timed(key: &[u8], hash_tags: bool) -> Option<Vec<u8>> {
    let part = TIMED_PREFIXES.into_iter().find_map(|prefix| key.strip_prefix(prefix))?;
    Some(unwrapped(part, hash_tags).to_vec())
}

/// The voucher or pool whose key with this prefix has this name: like `voucher_of_timed`, but none
/// if hash tags are on and the name has none.
pub fn owner_of(key: &[u8], prefix: &[u8], hash_tags: bool) -> Option<Vec<u8>> {
    let part = key.strip_prefix(prefix)?;
    let has_tag = !hash_tags || tag_of(part).is_some();
    has_tag.then(|| unwrapped(part, hash_tags).to_vec())
}

/// The only name of a voucher in the entries of streams. With hash tags on, `{7}` and `7` are one
/// voucher; the name is `7`, as for [`voucher_of_timed`].
pub fn entry_name(voucher: &[u8], hash_tags: bool) -> &[u8] {
    unwrapped(voucher, hash_tags)
}

/// The owner that `part` of a key's name stands for: without the braces that were added.
fn unwrapped(part: &[u8], hash_tags: bool) -> &[u8] {
    let inner = part.strip_prefix(b"{").and_then(|rest| rest.strip_suffix(b"}"));
    inner.filter(|inner| hash_tags && tagged(inner) == Ok(Tagged::Wrapped)).unwrap_or(part)
}

#[cfg(test)]
mod tests;
