//! The streams: of orders, one entry per accepted try; of releases; of confirmed orders; of draws.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, Kind, OwnedStr, Str, WriteKey};
use domain::entry_id::EntryId;

/// An order stream, there or not, opened for the one entry that it may get.
pub(crate) struct Orders<'a> {
    stream: WriteKey<'a>,
    key: Str<'a>,
    /// A stream without entries may have used up its ids anyway.
    is_empty_stream: bool,
}

impl<'a> Orders<'a> {
    /// Opens the stream; an error if it can't take an entry. Changes nothing and fires no event.
    pub(crate) fn open(ctx: Ctx<'a>, key: Str<'a>) -> Result<Self, CommandError> {
        let mut stream = WriteKey::open(ctx, key);
        let is_empty_stream = match stream.kind() {
            Kind::Empty => false,
            Kind::Stream if stream.len() == 0 => true,
            Kind::Stream if stream.is_exhausted() => return Err(CommandError::StreamExhausted),
            Kind::Stream => false,
            _ => return Err(CommandError::WrongType),
        };
        Ok(Self { stream, key, is_empty_stream })
    }

    /// As [`Orders::open`], and an error if the stream's ids are used up. None if no stream is
    /// kept.
    pub(crate) fn open_with_room(
        ctx: Ctx<'a>,
        key: Option<Str<'a>>,
    ) -> Result<Option<Self>, CommandError> {
        let Some(key) = key else { return Ok(None) };
        let stream = Self::open(ctx, key)?;
        stream.check_room(ctx)?;
        Ok(Some(stream))
    }

    /// Whether the stream is known to take an entry. If not, [`Orders::check_room`] finds out, with
    /// two more calls.
    pub(crate) fn has_room(&self) -> bool {
        !self.is_empty_stream
    }

    /// Refuses a stream whose ids are used up.
    pub(crate) fn check_room(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        const LAST_OF_ALL: &[u8] = b"18446744073709551615-18446744073709551615";
        if self.has_room() {
            return Ok(());
        }
        let subcommand = OwnedStr::new(b"STREAM");
        let reply = Call::read(ctx, c"XINFO", subcommand.as_str(), self.key)
            .map_err(|error| CommandError::of_call(error, "XINFO"))?;
        let mut last_id = reply.texts().skip_while(|text| *text != b"last-generated-id").skip(1);
        match last_id.next() {
            Some(LAST_OF_ALL) => Err(CommandError::StreamExhausted),
            _ => Ok(()),
        }
    }

    /// Refuses a stream whose ids are used up by the entries that were appended; there must be one.
    pub(crate) fn check_next(&mut self) -> Result<(), CommandError> {
        if self.stream.is_exhausted() { Err(CommandError::StreamExhausted) } else { Ok(()) }
    }

    /// Appends one of several entries. The stream stays open for more, and each entry is to be
    /// published or deleted again once the stream is closed.
    pub(crate) fn add_next(&mut self, fields: &[Str<'_>]) -> Result<Added<'a>, CommandError> {
        match self.stream.append(fields) {
            Some(id) => Ok(Added { key: self.key, id }),
            None => Err(CommandError::Refused { step: "XADD" }),
        }
    }

    /// Appends an entry of `fields`, names and values in turn, under an id of the stream's choice.
    pub(crate) fn append(self, fields: &'a [Str<'a>]) -> Result<Effect<'a>, CommandError> {
        Ok(self.add(fields)?.effect(fields))
    }

    /// The same, for a caller that may still have to delete the entry.
    pub(crate) fn add(mut self, fields: &[Str<'_>]) -> Result<Added<'a>, CommandError> {
        self.add_next(fields)
    }
}

/// An entry that was appended, and is not published yet.
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
        drop(Call::write(ctx, c"XDEL", key, id.as_str()));
    }
}
