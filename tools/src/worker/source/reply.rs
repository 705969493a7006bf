//! What the server answers about streams, read typed, as Redis 7.0 to 8.10 and Valkey 9.1 write it.
//!
//! An answer of another shape is an error: it must not look like one that says nothing.

use std::collections::BTreeSet;

use domain::entry_id::EntryId;
use domain::integer;
use redis::{ErrorKind, RedisError, RedisResult, Value};

use crate::order_events::StreamEntry;

/// How much of an answer that is not understood is shown.
const SHOWN: usize = 200;

/// A stream, by `XINFO STREAM`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamInfo {
    pub length: u64,
    /// How many entries were ever appended.
    pub added: u64,
    /// The id of the last entry that was ever appended.
    pub last: EntryId,
    /// The first entry that is there.
    pub first: Option<EntryId>,
    /// The greatest id that was deleted, other than by trimming.
    pub deleted: EntryId,
}

/// A group, by `XINFO GROUPS`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupInfo {
    pub name: Vec<u8>,
    pub pending: u64,
    pub last_delivered: EntryId,
    /// How many entries of the stream are up to the last delivered one, if the server knows.
    pub read: Option<u64>,
    pub lag: Option<u64>,
}

/// A consumer, by `XINFO CONSUMERS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerInfo {
    pub name: Vec<u8>,
    pub pending: u64,
    pub idle_ms: u64,
}

/// A pending entry, by `XPENDING` with a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pending {
    pub id: EntryId,
    pub deliveries: u64,
}

/// Entries of a stream that were delivered again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Claimed {
    pub entries: Vec<StreamEntry>,
    /// Those that were pending, and that are no longer in the stream. The group has forgotten them
    /// now.
    pub deleted: Vec<EntryId>,
    /// Those that are not pending for this consumer.
    pub others: BTreeSet<EntryId>,
}

fn odd(what: &str, value: &Value) -> RedisError {
    let shown: String = format!("{what}: {value:?}").chars().take(SHOWN).collect();
    RedisError::from((ErrorKind::UnexpectedReturnType, "the server's answer is unknown", shown))
}

/// The items of a list as their own.
fn items(what: &str, value: Value) -> RedisResult<Vec<Value>> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(odd(what, &other)),
    }
}

/// The items of a list of so many.
fn exactly<const N: usize>(what: &str, value: Value) -> RedisResult<[Value; N]> {
    <[Value; N]>::try_from(items(what, value)?).map_err(|items| odd(what, &Value::Array(items)))
}

/// Bytes, without a copy.
fn text(what: &str, value: Value) -> RedisResult<Vec<u8>> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        other => bytes(what, &other).map(<[u8]>::to_vec),
    }
}

fn list<'v>(what: &str, value: &'v Value) -> RedisResult<&'v [Value]> {
    match value {
        Value::Array(items) => Ok(items),
        other => Err(odd(what, other)),
    }
}

pub fn bytes<'v>(what: &str, value: &'v Value) -> RedisResult<&'v [u8]> {
    match value {
        Value::BulkString(bytes) => Ok(bytes),
        Value::SimpleString(text) => Ok(text.as_bytes()),
        other => Err(odd(what, other)),
    }
}

pub fn number(what: &str, value: &Value) -> RedisResult<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).map_err(|_| odd(what, value)),
        Value::BulkString(digits) => integer::parse_digits(digits).ok_or_else(|| odd(what, value)),
        other => Err(odd(what, other)),
    }
}

fn id(what: &str, value: &Value) -> RedisResult<EntryId> {
    EntryId::parse(bytes(what, value)?).ok_or_else(|| odd(what, value))
}

/// Items that are lists of names and values.
struct Fields<'v> {
    what: &'static str,
    value: &'v Value,
    items: &'v [Value],
}

impl<'v> Fields<'v> {
    fn of(what: &'static str, value: &'v Value) -> RedisResult<Self> {
        Ok(Self { what, value, items: list(what, value)? })
    }

    /// The value that follows a name.
    fn get(&self, name: &str) -> RedisResult<&'v Value> {
        let mut pairs = self.items.chunks_exact(2);
        let is_it =
            |pair: &&[Value]| matches!(&pair[0], Value::BulkString(it) if it == name.as_bytes());
        let found = pairs.find(is_it).map(|pair| &pair[1]);
        found.ok_or_else(|| odd(&format!("{} without {name}", self.what), self.value))
    }

    fn number(&self, name: &str) -> RedisResult<u64> {
        number(self.what, self.get(name)?)
    }

    fn number_or_nil(&self, name: &str) -> RedisResult<Option<u64>> {
        match self.get(name)? {
            Value::Nil => Ok(None),
            value => number(self.what, value).map(Some),
        }
    }

    fn id(&self, name: &str) -> RedisResult<EntryId> {
        id(self.what, self.get(name)?)
    }
}

pub fn stream_info(value: &Value) -> RedisResult<StreamInfo> {
    let fields = Fields::of("XINFO STREAM", value)?;
    let first = match fields.get("first-entry")? {
        Value::Nil => None,
        entry => list("first-entry", entry)?.first().map(|it| id("first-entry", it)).transpose()?,
    };
    Ok(StreamInfo {
        length: fields.number("length")?,
        added: fields.number("entries-added")?,
        last: fields.id("last-generated-id")?,
        first,
        deleted: fields.id("max-deleted-entry-id")?,
    })
}

pub fn groups(value: &Value) -> RedisResult<Vec<GroupInfo>> {
    let group = |value| {
        let fields = Fields::of("XINFO GROUPS", value)?;
        // Of a group that has read more than was ever appended the lag is negative, as when its
        // stream was deleted while it was made: neither is known then.
        let is_odd = matches!(fields.get("lag")?, Value::Int(lag) if *lag < 0);
        let known = |name| if is_odd { Ok(None) } else { fields.number_or_nil(name) };
        Ok(GroupInfo {
            name: bytes("XINFO GROUPS", fields.get("name")?)?.to_vec(),
            pending: fields.number("pending")?,
            last_delivered: fields.id("last-delivered-id")?,
            read: known("entries-read")?,
            lag: known("lag")?,
        })
    };
    list("XINFO GROUPS", value)?.iter().map(group).collect()
}

pub fn consumers(value: &Value) -> RedisResult<Vec<ConsumerInfo>> {
    let consumer = |value| {
        let fields = Fields::of("XINFO CONSUMERS", value)?;
        Ok(ConsumerInfo {
            name: bytes("XINFO CONSUMERS", fields.get("name")?)?.to_vec(),
            pending: fields.number("pending")?,
            idle_ms: fields.number("idle")?,
        })
    };
    list("XINFO CONSUMERS", value)?.iter().map(consumer).collect()
}

pub fn pending(value: &Value) -> RedisResult<Vec<Pending>> {
    const WHAT: &str = "XPENDING with a range";
    let one = |value| match list(WHAT, value)? {
        [it, _, _, deliveries] => {
            Ok(Pending { id: id(WHAT, it)?, deliveries: number(WHAT, deliveries)? })
        }
        _ => Err(odd(WHAT, value)),
    };
    list(WHAT, value)?.iter().map(one).collect()
}

/// Entries with all their fields, also those of one name. An entry that is named without fields was
/// deleted, which only servers before 7.0 say where this is asked.
pub fn entries(value: Value) -> RedisResult<Vec<StreamEntry>> {
    const WHAT: &str = "entries";
    let entry = |value| {
        let [it, fields] = exactly(WHAT, value)?;
        let items = items(WHAT, fields)?;
        if items.len() % 2 != 0 {
            return Err(odd(WHAT, &Value::Array(items)));
        }
        let (mut fields, mut items) = (Vec::with_capacity(items.len() / 2), items.into_iter());
        while let (Some(name), Some(value)) = (items.next(), items.next()) {
            fields.push((text(WHAT, name)?, text(WHAT, value)?));
        }
        Ok(StreamEntry { id: id(WHAT, &it)?, fields })
    };
    items(WHAT, value)?.into_iter().map(entry).collect()
}

/// The entries of some streams, by `XREADGROUP`.
pub fn streams(value: Value) -> RedisResult<Vec<(Vec<u8>, Vec<StreamEntry>)>> {
    const WHAT: &str = "XREADGROUP";
    let stream = |value| {
        let [name, its] = exactly(WHAT, value)?;
        Ok((text(WHAT, name)?, entries(its)?))
    };
    match value {
        Value::Nil => Ok(Vec::new()),
        value => items(WHAT, value)?.into_iter().map(stream).collect(),
    }
}

/// What `XAUTOCLAIM` took over, and where to continue.
pub fn taken(value: Value) -> RedisResult<(Claimed, Option<EntryId>)> {
    const WHAT: &str = "XAUTOCLAIM";
    let [next, its, deleted] = exactly(WHAT, value)?;
    let next = Some(id(WHAT, &next)?).filter(|next| *next != EntryId::default());
    let (entries, deleted) = (entries(its)?, ids(WHAT, &deleted)?);
    Ok((Claimed { entries, deleted, ..Claimed::default() }, next))
}

/// A list of ids.
pub fn ids(what: &str, value: &Value) -> RedisResult<Vec<EntryId>> {
    list(what, value)?.iter().map(|it| id(what, it)).collect()
}

#[cfg(test)]
mod tests;
