//! The stream of orders: one entry an accepted try.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, Kind, OwnedStr, Str, WriteKey};

/// Can the stream take one more entry?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Room {
    /// Yes.
    Yes,
    /// It holds no entry. [`check_empty`] knows, at a price.
    AskWhetherEmpty,
}

/// Looks whether `key` can take one more entry. Changes nothing and tells nobody.
pub(crate) fn room(ctx: Ctx<'_>, key: Str<'_>) -> Result<Room, CommandError> {
    let mut stream = WriteKey::open(ctx, key);
    match stream.kind() {
        Kind::Empty => Ok(Room::Yes),
        Kind::Other => Err(CommandError::WrongType),
        Kind::Stream if stream.len() == 0 => Ok(Room::AskWhetherEmpty),
        Kind::Stream if stream.is_exhausted() => Err(CommandError::StreamExhausted),
        Kind::Stream => Ok(Room::Yes),
    }
}

/// Refuses a stream without entries whose ids are used up all the same.
pub(crate) fn check_empty(ctx: Ctx<'_>, key: Str<'_>) -> Result<(), CommandError> {
    const LAST_OF_ALL: &[u8] = b"18446744073709551615-18446744073709551615";
    let subcommand = OwnedStr::new(b"STREAM");
    let reply = Call::read(ctx, c"XINFO", &[subcommand.as_str(), key])
        .map_err(|error| CommandError::of_call(error, "XINFO"))?;
    let mut last_id = reply.texts().skip_while(|text| *text != b"last-generated-id").skip(1);
    match last_id.next() {
        Some(LAST_OF_ALL) => Err(CommandError::StreamExhausted),
        _ => Ok(()),
    }
}

/// Appends an entry of `fields`, names and values in turn, under an id of the stream's choice.
pub(crate) fn append<'a>(
    ctx: Ctx<'a>,
    key: Str<'a>,
    fields: &'a [Str<'a>],
) -> Result<Effect<'a>, CommandError> {
    match WriteKey::open(ctx, key).append(fields) {
        Some(id) => Ok(Effect::Appended { key, id, fields }),
        None => Err(CommandError::Refused { step: "XADD" }),
    }
}
