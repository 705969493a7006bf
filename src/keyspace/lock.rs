//! Locks: a plain string key that holds its owner's token, with the lease as its time to live.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, CallError, Ctx, OwnedStr, ReadKey, Str, WriteKey};
use domain::integer::Decimal;
use domain::lock::{Holder, LockWrite};

/// Reads the holder of the lock. Changes nothing.
pub(crate) fn holder(ctx: Ctx<'_>, key: Str<'_>, token: &[u8]) -> Result<Holder, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(Holder::Nobody) };
    let is_this = lock.string(token, |held, token| held == token)?;
    let ends_at_ms = lock.ends_at_ms();
    Ok(if is_this { Holder::ThisToken { ends_at_ms } } else { Holder::Another { ends_at_ms } })
}

/// The owner of a lock, for show.
pub(crate) struct Owner {
    pub(crate) token: Vec<u8>,
    pub(crate) ends_at_ms: Option<i64>,
}

pub(crate) fn owner(ctx: Ctx<'_>, key: Str<'_>) -> Result<Option<Owner>, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(None) };
    let token = lock.string((), |token, ()| token.to_vec())?;
    Ok(Some(Owner { token, ends_at_ms: lock.ends_at_ms() }))
}

/// Writes the lock's key. False if the lock to be extended has expired since it was read, as it can
/// outside of a command: then nothing is written.
pub(crate) fn write<'a>(ctx: Ctx<'a>, key: Str<'a>, token: Str<'a>, write: LockWrite) -> bool {
    let mut lock = WriteKey::open(ctx, key);
    let effect = match write {
        LockWrite::Take { until_ms } => {
            lock.set_string(token);
            lock.set_end(until_ms);
            Effect::Set { key, value: token, at_ms: until_ms }
        }
        LockWrite::Extend { until_ms } => {
            if !lock.set_end(until_ms) {
                return false;
            }
            Effect::EndSet { key, at_ms: until_ms }
        }
        LockWrite::Delete => {
            lock.delete();
            Effect::Deleted { key }
        }
    };
    drop(lock);
    effect.publish(ctx);
    true
}

/// As [`LockWrite::Take`], by a call of the server, which refuses when the lock's slot is not here.
/// The server replicates what it did.
pub(crate) fn take_by_call(
    ctx: Ctx<'_>,
    key: Str<'_>,
    token: Str<'_>,
    until_ms: i64,
) -> Result<(), CommandError> {
    let (nx, pxat) = (OwnedStr::new(b"NX"), OwnedStr::new(b"PXAT"));
    let until_ms = OwnedStr::new(Decimal::new(until_ms).bytes());
    let words = [key, token, nx.as_str(), pxat.as_str(), until_ms.as_str()];
    match Call::write(ctx, c"SET", &words) {
        Ok(reply) if !reply.is_null() => Ok(()),
        Ok(_) => Err(CommandError::Refused { step: "SET" }),
        Err(CallError::NotHere) => Err(CommandError::LockMoved),
        Err(error) => Err(CommandError::of_call(error, "SET")),
    }
}
