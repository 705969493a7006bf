//! Consumer groups: the entries of a stream that were delivered to a group and are not acknowledged
//! yet.
//!
//! The module API has no functions for groups, so these are calls of the server.

use crate::effect::Effect;
use crate::error::CommandError;
use crate::server::{Call, Ctx, OwnedStr, ReadKey, Str};
use crate::typed::{Group, KeyName};
use domain::entry_id::EntryId;

/// An entry of a stream and the group that it was delivered to, or not.
#[derive(Clone, Copy)]
pub(crate) struct Delivery<'a> {
    pub(crate) stream: KeyName<'a>,
    pub(crate) group: Group<'a>,
    pub(crate) id: EntryId,
}

impl Delivery<'_> {
    /// How often the entry was delivered, if it is pending; none when it is not.
    pub(crate) fn pending(&self, ctx: Ctx<'_>) -> Result<Option<i64>, CommandError> {
        let (stream, group) = (self.stream.0, self.group.0);
        let (id, one) = (OwnedStr::new(&self.id.text()), OwnedStr::new(b"1"));
        let arguments = [stream, group, id.as_str(), id.as_str(), one.as_str()];
        match Call::read(ctx, c"XPENDING", &arguments) {
            // Of each entry: id, consumer, idle time, deliveries.
            Ok(reply) => Ok(reply.integer_at(0, 3)),
            Err(error) => Err(CommandError::of_call(error, "XPENDING")),
        }
    }

    /// The fields of the entry, names and values in turn. An error when it is gone.
    pub(crate) fn fields(&self, ctx: Ctx<'_>) -> Result<Vec<OwnedStr>, CommandError> {
        let stream = ReadKey::open(ctx, self.stream.0).ok_or(CommandError::NoGroup)?;
        stream.entry(self.id)?.ok_or(CommandError::NoEntry)
    }

    /// Acknowledges an entry that is pending. Replicated by the server.
    pub(crate) fn acknowledge(&self, ctx: Ctx<'_>) -> Result<(), CommandError> {
        let id = OwnedStr::new(&self.id.text());
        let arguments: [Str<'_>; 3] = [self.stream.0, self.group.0, id.as_str()];
        match Call::write(ctx, c"XACK", &arguments) {
            Ok(reply) if reply.integer() == 1 => Ok(()),
            Ok(_) => Err(CommandError::Refused { step: "XACK" }),
            Err(error) => Err(CommandError::of_call(error, "XACK")),
        }
    }

    /// Replicates the acknowledgement of an entry that is not pending, for a client that may not
    /// have got its answer: a `WAIT` after it waits for everything that was replicated before.
    pub(crate) fn acknowledge_again(&self, ctx: Ctx<'_>) {
        let id = OwnedStr::new(&self.id.text());
        let (key, group) = (self.stream.0, self.group.0);
        Effect::AcknowledgedAgain { key, group, id: id.as_str() }.publish(ctx);
    }
}
