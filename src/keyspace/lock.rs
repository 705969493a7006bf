//! Locks: a plain string key that holds its owner's token.

use crate::args::Token;
use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Ctx, ReadKey, Str, WriteKey};

/// Is the lock there, and held with this token, byte for byte?
pub(crate) fn is_held_by(
    ctx: Ctx<'_>,
    key: Str<'_>,
    token: Token<'_>,
) -> Result<bool, CommandError> {
    let Some(lock) = ReadKey::open(ctx, key) else { return Ok(false) };
    Ok(lock.string()? == token.0.bytes())
}

/// Deletes the lock.
pub(crate) fn delete<'a>(ctx: Ctx<'a>, key: Str<'a>) -> Effect<'a> {
    WriteKey::open(ctx, key).delete();
    Effect::Deleted { key }
}
