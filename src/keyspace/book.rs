//! The book of a managed voucher: its orders, its users' units, and its holds by deadline. Three
//! keys, written together by [`super::apply`], and a fourth where orders of several units are held.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::fields::decimal;
use crate::keyspace::presence::check_one_here;
use crate::keyspace::sale_keys::ManagedKeys;
use crate::server::{Ctx, Kind, OwnedStr, ReadKey, Str, WriteKey};
use domain::due::HoldPosition;
use domain::integer;
use domain::rules::Millis;

/// The units that nothing else counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extra {
    /// Of held orders, beyond the first of each.
    pub(crate) orders: i64,
    /// Held and sold, beyond one for each user on record, and one for each order in the queue.
    pub(crate) users: i64,
}

/// The names of its fields.
const EXTRA_FIELDS: [&[u8]; 2] = [b"orders", b"users"];

/// The extra units; none without the key, which may not be on another node.
pub(super) fn read_extra(ctx: Ctx<'_>, keys: ManagedKeys<'_>) -> Result<Extra, CommandError> {
    match peek_extra(ctx, keys)? {
        Some(extra) => Ok(extra),
        None => check_one_here(ctx, keys, keys.extra).map(|()| Extra::default()),
    }
}

/// The extra units, if the key is here.
pub(super) fn peek_extra(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
) -> Result<Option<Extra>, CommandError> {
    let Some(key) = ReadKey::open(ctx, keys.extra) else { return Ok(None) };
    let number = |field: &[u8]| match key.hash_get(OwnedStr::new(field).as_str()) {
        Ok(None) => Ok(0),
        Ok(Some(text)) => integer::parse(text.as_str().bytes()).ok_or(CommandError::Garbled),
        Err(_) => Err(CommandError::Garbled),
    };
    let [orders, users] = EXTRA_FIELDS.map(number);
    Ok(Some(Extra { orders: orders?, users: users? }))
}

/// Writes the extra units, of a key that is missing or a hash.
pub(super) fn write_extra(ctx: Ctx<'_>, key: Str<'_>, extra: Extra) {
    let names = EXTRA_FIELDS.map(OwnedStr::new);
    let numbers = [extra.orders, extra.users].map(decimal);
    let mut hash = WriteKey::open(ctx, key);
    let mut fields = Vec::with_capacity(names.len());
    for (name, number) in names.iter().zip(numbers) {
        if hash.hash_set(name.as_str(), number.as_str()).is_ok() {
            fields.push((name.as_str(), number));
        }
    }
    drop(hash);
    if !fields.is_empty() {
        Effect::FieldsSet { key, fields }.publish(ctx);
    }
}

/// What a holds key holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HoldsSeen {
    /// The earliest deadline after the requested position; None when there is none.
    pub(crate) first: Option<Millis>,
    pub(crate) count: u64,
}

/// The content of a holds key; None when there is no sorted set.
pub(crate) fn holds(
    ctx: Ctx<'_>,
    key: Str<'_>,
    behind: Option<&HoldPosition>,
) -> Option<HoldsSeen> {
    holds_in(&ReadKey::open(ctx, key)?, behind)
}

pub(super) fn holds_in(holds: &ReadKey<'_>, behind: Option<&HoldPosition>) -> Option<HoldsSeen> {
    let first = members(holds, behind, Millis::MAX, 1).ok()?.into_iter().next();
    let count = u64::try_from(holds.len()).unwrap_or(u64::MAX);
    Some(HoldsSeen { first: first.map(|(_, deadline)| deadline), count })
}

/// The orders after a position whose deadline is not after `now`, with their deadlines, the
/// earliest first, at most `most`.
pub(crate) fn due(
    ctx: Ctx<'_>,
    holds: Str<'_>,
    behind: Option<&HoldPosition>,
    now: Millis,
    most: usize,
) -> Result<Vec<(OwnedStr, Millis)>, CommandError> {
    let Some(holds) = ReadKey::open(ctx, holds) else { return Ok(Vec::new()) };
    members(&holds, behind, now, most)
}

/// Members of a holds key, the earliest deadline first, at most `most`. Takes time for every
/// member of the position's own deadline.
pub(super) fn members(
    holds: &ReadKey<'_>,
    behind: Option<&HoldPosition>,
    until: Millis,
    most: usize,
) -> Result<Vec<(OwnedStr, Millis)>, CommandError> {
    let from = behind.map_or(f64::NEG_INFINITY, |behind| behind.deadline as f64);
    // Deadlines are below 2^53, which a double holds exactly.
    let until = if until == Millis::MAX { f64::INFINITY } else { until as f64 };
    // Members with the same score are sorted by their bytes.
    let is_before = |id: &[u8], score: f64| {
        behind.is_some_and(|behind| {
            score <= from && behind.id.as_ref().is_none_or(|last| id <= last.as_slice())
        })
    };
    let members = holds.members(from..=until, most, is_before)?;
    // Scores that no deadline has saturate, and so differ from every deadline.
    Ok(members.into_iter().map(|(id, score)| (id, score as Millis)).collect())
}

/// The units of all held orders, in constant time: one per hold, and those beyond the first, which
/// are not read if every order has one unit.
pub(crate) fn units_held(
    ctx: Ctx<'_>,
    keys: ManagedKeys<'_>,
    all_single: bool,
) -> Result<i64, CommandError> {
    let Some(holds) = ReadKey::open(ctx, keys.holds) else { return Ok(0) };
    if holds.kind() != Kind::SortedSet {
        return Err(CommandError::WrongType);
    }
    let count = i64::try_from(holds.len()).unwrap_or(i64::MAX);
    let extra = if all_single { 0 } else { read_extra(ctx, keys)?.orders };
    Ok(count.saturating_add(extra))
}

/// How many orders are in the queue.
pub(crate) fn waiting(ctx: Ctx<'_>, queue: Str<'_>) -> i64 {
    let queue = ReadKey::open(ctx, queue).filter(|queue| queue.kind() == Kind::SortedSet);
    queue.map_or(0, |queue| i64::try_from(queue.len()).unwrap_or(i64::MAX))
}

/// The extra units, as the key says; None if it can't be read.
pub(crate) fn extra(ctx: Ctx<'_>, keys: ManagedKeys<'_>) -> Result<Option<Extra>, CommandError> {
    match read_extra(ctx, keys) {
        Ok(extra) => Ok(Some(extra)),
        Err(CommandError::WrongType | CommandError::Garbled) => Ok(None),
        Err(error) => Err(error),
    }
}
