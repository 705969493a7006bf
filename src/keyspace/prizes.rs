//! The codes of a pool, a list, and their winners, a hash.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::keyspace::orders::Orders;
use crate::keyspace::pool::PoolKeys;
use crate::server::{Ctx, Kind, OwnedStr, ReadKey, WriteKey};
use crate::typed::User;

/// The code that a user has drawn.
pub(crate) fn code_of(
    ctx: Ctx<'_>,
    keys: &PoolKeys,
    user: User<'_>,
) -> Result<Option<OwnedStr>, CommandError> {
    match ReadKey::open(ctx, keys.winners()) {
        None => Ok(None),
        Some(winners) => Ok(winners.hash_get(user.0)?),
    }
}

/// The code that is drawn next; none when the pool is empty.
pub(crate) fn first_code(ctx: Ctx<'_>, keys: &PoolKeys) -> Result<Option<OwnedStr>, CommandError> {
    match ReadKey::open(ctx, keys.codes()) {
        None => Ok(None),
        Some(codes) => Ok(codes.list_first()?),
    }
}

/// Refuses an existing codes key that is not a list.
pub(crate) fn check_codes(ctx: Ctx<'_>, keys: &PoolKeys) -> Result<(), CommandError> {
    match ReadKey::open(ctx, keys.codes()) {
        Some(codes) if codes.kind() != Kind::List => Err(CommandError::WrongType),
        _ => Ok(()),
    }
}

/// Opens the stream of draws, if there is one to be kept; an error when it can't take an entry.
/// Nothing is changed by this, and no event fires.
pub(crate) fn open_draws<'a>(
    ctx: Ctx<'a>,
    keys: &'a PoolKeys,
) -> Result<Option<Orders<'a>>, CommandError> {
    Orders::open_with_room(ctx, keys.draws()).map_err(|error| match error {
        CommandError::StreamExhausted => CommandError::DrawsExhausted,
        other => other,
    })
}

/// Takes the first code from the pool. None when the key is no longer a list, which only another
/// module could have caused since it was read.
pub(crate) fn take_first<'a>(ctx: Ctx<'a>, keys: &'a PoolKeys) -> Option<(OwnedStr, Effect<'a>)> {
    let mut codes = WriteKey::open(ctx, keys.codes());
    let code = codes.list_pop_first()?;
    let was_last = codes.kind() == Kind::Empty;
    Some((code, Effect::Popped { key: keys.codes(), was_last }))
}

/// Puts a code back into the pool, to be drawn next. None when the key is no list any more.
pub(crate) fn put_first<'a>(
    ctx: Ctx<'a>,
    keys: &'a PoolKeys,
    code: &'a OwnedStr,
) -> Option<Effect<'a>> {
    let (key, element) = (keys.codes(), code.as_str());
    WriteKey::open(ctx, key).list_push_first(element).ok()?;
    Some(Effect::PushedFirst { key, element })
}

/// Records the winner of a code. None when the key is not a hash any more.
pub(crate) fn set_winner<'a>(
    ctx: Ctx<'a>,
    keys: &'a PoolKeys,
    user: User<'a>,
    code: OwnedStr,
) -> Option<Effect<'a>> {
    let key = keys.winners();
    WriteKey::open(ctx, key).hash_set(user.0, code.as_str()).ok()?;
    Some(Effect::FieldSet { key, field: user.0, value: code })
}

/// Forgets that a user has a code. None when the key is not a hash any more.
pub(crate) fn forget_winner<'a>(
    ctx: Ctx<'a>,
    keys: &'a PoolKeys,
    user: User<'a>,
) -> Option<Effect<'a>> {
    let (key, field) = (keys.winners(), user.0);
    let mut winners = WriteKey::open(ctx, key);
    winners.hash_del(field).ok()?;
    let was_last = winners.kind() == Kind::Empty;
    Some(Effect::FieldDeleted { key, field, was_last })
}
