//! What a command changed, as the plain commands that repeat it.
//!
//! Replicas, append-only files and subscribers of keyspace events see only these. A write that
//! goes by the low-level API returns its effect; a write that goes by a call of the server
//! (`SADD`) has been replicated and announced by the server and has none.

use crate::server::{Ctx, EventClass, OwnedStr, Str};
use domain::entry_id::EntryId;
use domain::integer::Decimal;

/// A write that is not published yet.
#[must_use = "an effect that is not published leaves replicas and the append-only file behind"]
pub(crate) enum Effect<'a> {
    /// `INCRBY key by`, or `DECRBY`; of one unit `DECR key`, which is shorter
    Incremented { key: Str<'a>, by: i64 },
    /// `XADD key id field value ...`
    Appended { key: Str<'a>, id: EntryId, fields: &'a [Str<'a>] },
    /// `LPOP key`; `was_last` when the key went with it
    Popped { key: Str<'a>, was_last: bool },
    /// `LPUSH key element`
    PushedFirst { key: Str<'a>, element: Str<'a> },
    /// `HSET key field value`
    FieldSet { key: Str<'a>, field: Str<'a>, value: OwnedStr },
    /// `HSETNX key field value` of what is there already: nothing is written, here or there, not
    /// even the field's time to live, and no event fires. Gives the client of a repeat something
    /// that a `WAIT` can wait for
    FieldAgain { key: Str<'a>, field: Str<'a>, value: OwnedStr },
    /// `HSET key field value field value ...`
    FieldsSet { key: Str<'a>, fields: Vec<(Str<'a>, OwnedStr)> },
    /// `HDEL key field`; `was_last` when the key went with it
    FieldDeleted { key: Str<'a>, field: Str<'a>, was_last: bool },
    /// `ZADD key score member`
    Scored { key: Str<'a>, score: i64, member: Str<'a> },
    /// `ZADD key score member score member ...`
    AllScored { key: Str<'a>, score: i64, members: Vec<Str<'a>> },
    /// `ZREM key member`; `was_last` when the key went with it
    Unscored { key: Str<'a>, member: Str<'a>, was_last: bool },
    /// `SET key value PXAT at_ms`
    Set { key: Str<'a>, value: Str<'a>, at_ms: i64 },
    /// `PEXPIREAT key at_ms`
    EndSet { key: Str<'a>, at_ms: i64 },
    /// `XACK key group id` of an entry that is not pending: nothing is written here, as with
    /// [`Effect::FieldAgain`]
    AcknowledgedAgain { key: Str<'a>, group: Str<'a>, id: Str<'a> },
    /// `DEL key`
    Deleted { key: Str<'a> },
    /// `UNLINK key` of a key that is missing: nothing is written here, as with
    /// [`Effect::FieldAgain`]
    UnlinkedAgain { key: Str<'a> },
}

impl Effect<'_> {
    /// Replicates the effect, then fires the event that the plain command would have fired.
    pub(crate) fn publish(self, ctx: Ctx<'_>) {
        match self {
            Self::Incremented { key, by } => {
                if by == -1 {
                    ctx.replicate(c"DECR", &[key]);
                } else {
                    let command = if by < 0 { c"DECRBY" } else { c"INCRBY" };
                    let units = OwnedStr::new(Decimal::unsigned(by.unsigned_abs()).bytes());
                    ctx.replicate(command, &[key, units.as_str()]);
                }
                // What the server fires for INCR, DECR, INCRBY and DECRBY alike.
                ctx.notify(EventClass::String, c"incrby", key);
            }
            Self::Appended { key, id, fields } => {
                replicate_xadd(ctx, key, id, fields);
                ctx.notify(EventClass::Stream, c"xadd", key);
            }
            Self::Popped { key, was_last } => {
                ctx.replicate(c"LPOP", &[key]);
                ctx.notify(EventClass::List, c"lpop", key);
                notify_if_gone(ctx, key, was_last);
            }
            Self::PushedFirst { key, element } => {
                ctx.replicate(c"LPUSH", &[key, element]);
                ctx.notify(EventClass::List, c"lpush", key);
            }
            Self::FieldSet { key, field, value } => {
                ctx.replicate(c"HSET", &[key, field, value.as_str()]);
                ctx.notify(EventClass::Hash, c"hset", key);
            }
            Self::FieldsSet { key, fields } => {
                let pairs = fields.iter().flat_map(|(field, value)| [*field, value.as_str()]);
                ctx.replicate(c"HSET", &[key].into_iter().chain(pairs).collect::<Vec<_>>());
                ctx.notify(EventClass::Hash, c"hset", key);
            }
            Self::FieldAgain { key, field, value } => {
                ctx.replicate(c"HSETNX", &[key, field, value.as_str()]);
            }
            Self::FieldDeleted { key, field, was_last } => {
                ctx.replicate(c"HDEL", &[key, field]);
                ctx.notify(EventClass::Hash, c"hdel", key);
                notify_if_gone(ctx, key, was_last);
            }
            Self::Scored { key, score, member } => {
                let score = OwnedStr::new(Decimal::new(score).bytes());
                ctx.replicate(c"ZADD", &[key, score.as_str(), member]);
                ctx.notify(EventClass::SortedSet, c"zadd", key);
            }
            Self::AllScored { key, score, members } => {
                let score = OwnedStr::new(Decimal::new(score).bytes());
                let pairs = members.iter().flat_map(|member| [score.as_str(), *member]);
                ctx.replicate(c"ZADD", &[key].into_iter().chain(pairs).collect::<Vec<_>>());
                ctx.notify(EventClass::SortedSet, c"zadd", key);
            }
            Self::Unscored { key, member, was_last } => {
                ctx.replicate(c"ZREM", &[key, member]);
                ctx.notify(EventClass::SortedSet, c"zrem", key);
                notify_if_gone(ctx, key, was_last);
            }
            Self::Set { key, value, at_ms } => {
                let words = [b"PXAT", Decimal::new(at_ms).bytes()].map(OwnedStr::new);
                let [pxat, at_ms] = &words;
                ctx.replicate(c"SET", &[key, value, pxat.as_str(), at_ms.as_str()]);
                ctx.notify(EventClass::String, c"set", key);
                ctx.notify(EventClass::Generic, c"expire", key);
            }
            Self::EndSet { key, at_ms } => {
                let at_ms = OwnedStr::new(Decimal::new(at_ms).bytes());
                ctx.replicate(c"PEXPIREAT", &[key, at_ms.as_str()]);
                ctx.notify(EventClass::Generic, c"expire", key);
            }
            Self::AcknowledgedAgain { key, group, id } => {
                ctx.replicate(c"XACK", &[key, group, id]);
            }
            Self::UnlinkedAgain { key } => ctx.replicate(c"UNLINK", &[key]),
            Self::Deleted { key } => {
                ctx.replicate(c"DEL", &[key]);
                ctx.notify(EventClass::Generic, c"del", key);
            }
        }
    }
}

/// A collection that loses its last element is deleted, and the plain commands say so.
fn notify_if_gone(ctx: Ctx<'_>, key: Str<'_>, was_last: bool) {
    if was_last {
        ctx.notify(EventClass::Generic, c"del", key);
    }
}

fn replicate_xadd(ctx: Ctx<'_>, key: Str<'_>, id: EntryId, fields: &[Str<'_>]) {
    let id = OwnedStr::new(id_text(id).bytes());
    let id = id.as_str();
    match *fields {
        // The usual entries have three fields, the sale of a managed voucher, and a deadline where
        // orders are held. They spare the vector.
        [a, b, c, d, e, f] => ctx.replicate(c"XADD", &[key, id, a, b, c, d, e, f]),
        [a, b, c, d, e, f, g, h] => ctx.replicate(c"XADD", &[key, id, a, b, c, d, e, f, g, h]),
        [a, b, c, d, e, f, g, h, i, j] => {
            ctx.replicate(c"XADD", &[key, id, a, b, c, d, e, f, g, h, i, j]);
        }
        _ => ctx.replicate(c"XADD", &[&[key, id], fields].concat()),
    }
}

/// `ms-seq` in a buffer of its own: two numbers of at most 20 digits and the dash.
struct IdText {
    bytes: [u8; 41],
    len: usize,
}

impl IdText {
    fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

fn id_text(id: EntryId) -> IdText {
    let mut text = IdText { bytes: [0; 41], len: 0 };
    for part in [Decimal::unsigned(id.ms).bytes(), b"-", Decimal::unsigned(id.seq).bytes()] {
        let end = text.len.saturating_add(part.len());
        if let Some(room) = text.bytes.get_mut(text.len..end) {
            room.copy_from_slice(part);
            text.len = end;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::{EntryId, id_text};

    #[test]
    fn ids_are_written_as_the_server_does() {
        let id = |ms, seq| String::from_utf8(id_text(EntryId { ms, seq }).bytes().into()).unwrap();
        assert_eq!(id(0, 1), "0-1");
        assert_eq!(id(1_700_000_000_123, 0), "1700000000123-0");
        assert_eq!(id(u64::MAX, u64::MAX), "18446744073709551615-18446744073709551615");
    }
}
