//! The streams: of orders, one entry per accepted try; of releases; of confirmed orders; of draws.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, Kind, OwnedStr, Str, WriteKey};
use domain::entry_id::EntryId;

/// An order stream, there or not, opened for the entries that it may get.
pub(crate) struct Orders<'a> {
    stream: WriteKey<'a>,
    key: Str<'a>,
    /// What it is called in errors.
    name: &'static str,
}

impl<'a> Orders<'a> {
    /// Opens the stream; an error if it can't take an entry. Changes nothing and fires no event.
    pub(crate) fn open(
        ctx: Ctx<'a>,
        key: Str<'a>,
        name: &'static str,
    ) -> Result<Self, CommandError> {
        let mut stream = WriteKey::open(ctx, key);
        match stream.kind() {
            Kind::Empty => {}
            Kind::Stream if stream.len() == 0 => {
                // It may have used up its ids. While the server is asked, no handle may be open.
                drop(stream);
                check_last_id(ctx, key, name)?;
                stream = WriteKey::open(ctx, key);
            }
            Kind::Stream if stream.is_exhausted() => {
                return Err(CommandError::StreamExhausted { stream: name });
            }
            Kind::Stream => {}
            _ => return Err(CommandError::WrongType),
        }
        Ok(Self { stream, key, name })
    }

    /// Appends an entry of `fields`, names and values in turn, under an id of the stream's choice.
    /// It is to be published or taken back once the stream is closed.
    pub(crate) fn add(&mut self, fields: &[Str<'_>]) -> Result<Added<'a>, CommandError> {
        match self.stream.append(fields) {
            Some(id) => Ok(Added { key: self.key, id }),
            None if self.stream.len() > 0 && self.stream.is_exhausted() => {
                Err(CommandError::StreamExhausted { stream: self.name })
            }
            None => Err(CommandError::Refused { step: "XADD" }),
        }
    }
}

/// Refuses a stream without entries whose ids are used up.
fn check_last_id(ctx: Ctx<'_>, key: Str<'_>, stream: &'static str) -> Result<(), CommandError> {
    const LAST_OF_ALL: &[u8] = b"18446744073709551615-18446744073709551615";
    let subcommand = OwnedStr::new(b"STREAM");
    let reply = Call::read(ctx, c"XINFO", &[subcommand.as_str(), key])
        .map_err(|error| CommandError::of_call(error, "XINFO"))?;
    let mut last_id = reply.texts().skip_while(|text| *text != b"last-generated-id").skip(1);
    match last_id.next() {
        Some(LAST_OF_ALL) => Err(CommandError::StreamExhausted { stream }),
        _ => Ok(()),
    }
}

/// An entry that was appended, and is not published yet.
#[derive(Clone, Copy)]
#[must_use = "an entry that is neither published nor taken back is missing on replicas"]
pub(crate) struct Added<'a> {
    key: Str<'a>,
    id: EntryId,
}

impl<'a> Added<'a> {
    /// What was written, `fields` being those that were appended.
    pub(crate) fn effect<'e>(self, fields: &'e [Str<'e>]) -> Effect<'e>
    where
        'a: 'e,
    {
        Effect::Appended { key: self.key, id: self.id, fields }
    }

    /// Deletes the entry again, because a later step was refused. Its id stays used, here and on
    /// replicas.
    pub(crate) fn take_back(self, ctx: Ctx<'_>, fields: &[Str<'_>]) {
        let (key, id) = (self.key, self.id);
        self.effect(fields).publish(ctx);
        let id = OwnedStr::new(&id.text());
        // There was nothing to refuse in appending it, and there is no more in this.
        drop(Call::write(ctx, c"XDEL", &[key, id.as_str()]));
    }
}
