//! Stock keys: a string that holds the units left, as INCRBY would have it.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str, WriteKey};
use domain::integer::{self, Decimal};
use domain::plan::Change;
use domain::sale::Stock;

/// What the stock key says.
pub(crate) fn read(ctx: Ctx<'_>, key: Str<'_>) -> Result<Stock, CommandError> {
    let Some(key) = ReadKey::open(ctx, key) else { return Ok(Stock::Missing) };
    let left = key.string((), |text, ()| integer::parse(text))?;
    left.map(Stock::Left).ok_or(CommandError::StockNotInteger)
}

/// Changes a stock that was read in this command. None, and nothing written, when nothing changes
/// or the key is no longer a string: a deleted stock is never created again.
///
/// In place: the key's time to live stays, which RM_StringSet would drop.
pub(crate) fn change<'a>(ctx: Ctx<'a>, key: Str<'a>, change: Change) -> Option<Effect<'a>> {
    let by = change.after.checked_sub(change.before).filter(|by| *by != 0)?;
    WriteKey::open(ctx, key).overwrite_string(Decimal::new(change.after).bytes()).ok()?;
    Some(Effect::Incremented { key, by })
}

/// Makes a key of this number. Replicated and announced by the server.
pub(crate) fn create(ctx: Ctx<'_>, key: Str<'_>, number: i64) -> Result<(), CommandError> {
    let text = OwnedStr::new(Decimal::new(number).bytes());
    match Call::write(ctx, c"SET", &[key, text.as_str()]) {
        Ok(_) => Ok(()),
        Err(error) => Err(CommandError::of_call(error, "SET")),
    }
}
