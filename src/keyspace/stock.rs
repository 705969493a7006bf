//! Stock keys: a string that holds the units left, as INCRBY would have it.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::rules::integer::{self, Decimal};
use crate::rules::sale::Stock;
use crate::server::{Ctx, ReadKey, Str, WriteKey};

/// What the stock key says.
pub(crate) fn read(ctx: Ctx<'_>, key: Str<'_>) -> Result<Stock, CommandError> {
    let Some(key) = ReadKey::open(ctx, key) else { return Ok(Stock::Missing) };
    integer::parse(key.string()?).map(Stock::Left).ok_or(CommandError::StockNotInteger)
}

/// Writes `left`, what stays of a stock that was read in this command, once `units` (as text) are
/// taken. None, and nothing written, when the key is no string any more.
///
/// In place: the key's time to live stays, which RM_StringSet would drop.
pub(crate) fn deduct<'a>(
    ctx: Ctx<'a>,
    key: Str<'a>,
    units: Str<'a>,
    left: i64,
) -> Option<Effect<'a>> {
    let written = WriteKey::open(ctx, key).overwrite_string(Decimal::new(left).bytes());
    written.ok().map(|()| Effect::Deducted { key, units })
}
