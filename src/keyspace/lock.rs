//! Locks: a plain string key that holds its owner's token, with the lease as its time to live.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str, WriteKey};
use crate::typed::Token;
use domain::integer::Decimal;

/// The holder of a lock, from the view of a client with a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Holder {
    Nobody,
    /// A client with this very token, byte for byte.
    ThisToken,
    /// Another owner. None: the lock does not expire.
    Another {
        ends_at_ms: Option<i64>,
    },
}

/// Reads the holder of the lock. Changes nothing.
pub(crate) fn holder(ctx: Ctx<'_>, key: Str<'_>, token: Token<'_>) -> Result<Holder, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(Holder::Nobody) };
    if lock.string()? == token.0.bytes() {
        return Ok(Holder::ThisToken);
    }
    Ok(Holder::Another { ends_at_ms: lock.ends_at_ms() })
}

/// The owner of a lock, for show.
pub(crate) struct Owner {
    pub(crate) token: Vec<u8>,
    pub(crate) ends_at_ms: Option<i64>,
}

pub(crate) fn owner(ctx: Ctx<'_>, key: Str<'_>) -> Result<Option<Owner>, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(None) };
    let token = lock.string()?.to_vec();
    Ok(Some(Owner { token, ends_at_ms: lock.ends_at_ms() }))
}

/// Is the lock there, and held with this token, byte for byte?
pub(crate) fn is_held_by(
    ctx: Ctx<'_>,
    key: Str<'_>,
    token: Token<'_>,
) -> Result<bool, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(false) };
    Ok(lock.string()? == token.0.bytes())
}

/// Makes the token the owner of a lock that nobody holds.
pub(crate) fn take<'a>(
    ctx: Ctx<'a>,
    key: Str<'a>,
    token: Token<'a>,
    ends_at_ms: i64,
) -> Effect<'a> {
    let mut lock = WriteKey::open(ctx, key);
    lock.set_string(token.0);
    lock.set_end(ends_at_ms);
    Effect::Set { key, value: token.0, at_ms: ends_at_ms }
}

/// As [`take`], by a call of the server, which refuses when the lock's slot is not here. The server
/// replicates what it did, with the time at which the lease ends.
pub(crate) fn take_by_call(
    ctx: Ctx<'_>,
    key: Str<'_>,
    token: Token<'_>,
    lease_ms: i64,
) -> Result<(), CommandError> {
    let (nx, px) = (OwnedStr::new(b"NX"), OwnedStr::new(b"PX"));
    let lease_ms = OwnedStr::new(Decimal::new(lease_ms).bytes());
    let words = [key, token.0, nx.as_str(), px.as_str(), lease_ms.as_str()];
    match Call::write_all(ctx, c"SET", &words) {
        Ok(reply) if !reply.is_null() => Ok(()),
        Ok(_) => Err(CommandError::Refused { step: "SET" }),
        Err(error) => Err(CommandError::of_lock_call(error, "SET")),
    }
}

/// Sets the end of the lease of a held lock.
pub(crate) fn extend<'a>(ctx: Ctx<'a>, key: Str<'a>, ends_at_ms: i64) -> Effect<'a> {
    WriteKey::open(ctx, key).set_end(ends_at_ms);
    Effect::EndSet { key, at_ms: ends_at_ms }
}

/// Deletes the lock.
pub(crate) fn delete<'a>(ctx: Ctx<'a>, key: Str<'a>) -> Effect<'a> {
    WriteKey::open(ctx, key).delete();
    Effect::Deleted { key }
}
