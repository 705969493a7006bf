//! Rules keys: a string with the JSON of a managed voucher's rules.

use crate::error::CommandError;
use crate::keyspace::kept::Kept;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str};
use domain::rules::Rules;

/// The JSON read last and what it means. Reading is a pure function of the bytes, so this can't
/// be stale: other bytes are read again.
pub(crate) struct ReadRules {
    json: Vec<u8>,
    rules: Rules,
}

/// The rules; none when the voucher is not managed.
pub(crate) fn read(
    kept: &Kept<ReadRules>,
    ctx: Ctx<'_>,
    key: Str<'_>,
) -> Result<Option<Rules>, CommandError> {
    let Some(key) = ReadKey::open(ctx, key) else { return Ok(None) };
    if let Some(last) = kept.get()
        && key.string(last.json.as_slice(), |json, last| json == last)?
    {
        return Ok(Some(last.rules));
    }
    let read = key.string((), |json, ()| {
        Rules::parse(json).map(|rules| ReadRules { json: json.to_vec(), rules })
    });
    Ok(Some(kept.keep(read??).rules))
}

/// Is there a key of this name, whatever it holds?
pub(crate) fn exists(ctx: Ctx<'_>, key: Str<'_>) -> bool {
    ReadKey::open(ctx, key).is_some()
}

/// Refuses to change a managed voucher on a replica, which servers allow with `replica-read-only
/// no`: its primary sells the same units.
pub(crate) fn check_primary(ctx: Ctx<'_>) -> Result<(), CommandError> {
    if ctx.is_replica() { Err(CommandError::ReadOnly) } else { Ok(()) }
}

/// Writes the rules; a time to live stays. Replicated and announced by the server.
pub(crate) fn write(ctx: Ctx<'_>, key: Str<'_>, rules: &Rules) -> Result<(), CommandError> {
    check_primary(ctx)?;
    let words = [rules.to_json().as_bytes(), b"KEEPTTL"].map(OwnedStr::new);
    let [json, keep] = &words;
    match Call::write(ctx, c"SET", &[key, json.as_str(), keep.as_str()]) {
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::of_call(error, "SET")),
    }
}
