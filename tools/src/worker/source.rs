//! The streams of a hash tag, read as a consumer of a group.

mod dead_letters;
mod pending;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::entry_id::EntryId;
use domain::hash_tag::StrayBraces;
use domain::key_names::Naming;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, RedisResult, Value, cmd};
use seckill_tools::duration::millis;

use crate::options::Streams;
use crate::stream_entry::{StreamEntry, Which};

/// Entries that are asked for at a time.
const PIECE: usize = 1_000;
/// Unread entries are counted up to this, if the server can't say how many there are.
const UNREAD_MAX: u64 = 10_000;

pub struct Source {
    connection: MultiplexedConnection,
    streams: Streams,
    group: String,
    consumer: String,
    /// How many entries are pending for this consumer, as far as that is known for sure: a smaller
    /// number on the server shows that somebody took some.
    owned: BTreeMap<Which, u64>,
}

/// Delivered entries of streams, in the order of each.
pub type Delivered = BTreeMap<Which, Vec<StreamEntry>>;

/// The group's position in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub last_delivered: EntryId,
    pub pending: u64,
    /// None if the server doesn't know it.
    pub lag: Option<u64>,
}

impl Source {
    pub fn new(
        connection: MultiplexedConnection,
        streams: Streams,
        group: &str,
        consumer: &str,
    ) -> Self {
        let [group, consumer] = [group, consumer].map(str::to_owned);
        Self { connection, streams, group, consumer, owned: BTreeMap::new() }
    }

    pub fn name(&self, which: Which) -> &str {
        match which {
            Which::Orders => &self.streams.orders,
            Which::Confirmed => self.streams.confirmed.as_deref().unwrap_or_default(),
            Which::Released => &self.streams.released,
        }
    }

    /// How the keys of a voucher in these streams are named.
    pub fn naming<'v>(&self, voucher: &'v str) -> Result<Naming<'v>, StrayBraces> {
        Naming::of(voucher.as_bytes(), self.name(Which::Orders).ends_with('}'))
    }

    /// The streams that are read.
    pub fn all(&self) -> Vec<Which> {
        match self.streams.confirmed {
            Some(_) => vec![Which::Orders, Which::Confirmed, Which::Released],
            None => vec![Which::Orders, Which::Released],
        }
    }

    pub fn connection(&mut self) -> &mut MultiplexedConnection {
        &mut self.connection
    }

    async fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection).await
    }

    /// Creates missing streams and groups. A new group begins with the first entry.
    pub async fn make_groups(&mut self) -> RedisResult<()> {
        for which in self.all() {
            let mut create = cmd("XGROUP");
            create.arg("CREATE").arg(self.name(which)).arg(&self.group).arg("0").arg("MKSTREAM");
            match self.ask(&create).await {
                Ok(_) => {}
                Err(error) if error.code() == Some("BUSYGROUP") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Entries of some streams that no consumer has read. With `block`, waits for the first.
    pub async fn read(
        &mut self,
        of: &[Which],
        count: u32,
        block: Option<Duration>,
    ) -> RedisResult<Delivered> {
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.consumer).arg("COUNT").arg(count);
        if let Some(block) = block {
            read.arg("BLOCK").arg(millis(block).max(1));
        }
        let names: Vec<_> = of.iter().rev().map(|which| self.name(*which)).collect();
        read.arg("STREAMS").arg(names);
        read.arg(vec![">"; of.len()]);
        let reply = self.ask(&read).await?;
        let mut delivered = Delivered::new();
        for stream in items(&reply) {
            let [name, entries] = items(stream) else { continue };
            let is_its = |which: &&Which| self.name(**which).as_bytes() == bytes(name);
            let Some(which) = of.iter().find(is_its) else { continue };
            let entries = entries_of(entries);
            self.owned.entry(*which).and_modify(|owned| *owned += entries.len() as u64);
            delivered.insert(*which, entries);
        }
        Ok(delivered)
    }

    /// Takes over entries that were left for `idle`, from `start` on. Also returns where to
    /// continue; none at the end.
    pub async fn steal(
        &mut self,
        which: Which,
        idle: Duration,
        start: EntryId,
        count: u32,
    ) -> RedisResult<(Vec<StreamEntry>, Option<EntryId>)> {
        let mut claim = cmd("XAUTOCLAIM");
        claim.arg(self.name(which)).arg(&self.group).arg(&self.consumer).arg(millis(idle));
        claim.arg(start.to_string()).arg("COUNT").arg(count);
        self.owned.remove(&which);
        let reply = self.ask(&claim).await?;
        let [next, entries, ..] = items(&reply) else { return Ok((Vec::new(), None)) };
        let next = id_of(next).filter(|next| *next != EntryId::default());
        Ok((entries_of(entries), next))
    }

    pub async fn acknowledge(&mut self, which: Which, ids: &[EntryId]) -> RedisResult<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let mut ack = cmd("XACK");
        ack.arg(self.name(which)).arg(&self.group);
        for id in ids {
            ack.arg(id.to_string());
        }
        let acknowledged = number(&self.ask(&ack).await?).unwrap_or(0);
        self.owned.entry(which).and_modify(|owned| *owned = owned.saturating_sub(acknowledged));
        Ok(())
    }

    /// The id of the last entry that was ever appended.
    pub async fn last_id(&mut self, which: Which) -> RedisResult<EntryId> {
        let mut info = cmd("XINFO");
        info.arg("STREAM").arg(self.name(which));
        let reply = self.ask(&info).await?;
        Ok(field(&reply, "last-generated-id").and_then(id_of).unwrap_or_default())
    }

    /// How many entries are after one, counted up to a bound.
    pub async fn unread(&mut self, which: Which, last: EntryId) -> RedisResult<u64> {
        let (mut count, mut from) = (0, last);
        loop {
            let mut range = cmd("XRANGE");
            range.arg(self.name(which)).arg(format!("({from}")).arg("+").arg("COUNT").arg(1_000);
            let page = entries_of(&self.ask(&range).await?);
            count += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == 1_000 && count < UNREAD_MAX => from = last.id,
                _ => return Ok(count),
            }
        }
    }

    pub async fn standing(&mut self, which: Which) -> RedisResult<Standing> {
        let mut info = cmd("XINFO");
        info.arg("GROUPS").arg(self.name(which));
        let reply = self.ask(&info).await?;
        let is_ours = |group: &&Value| {
            field(group, "name").is_some_and(|name| bytes(name) == self.group.as_bytes())
        };
        let Some(group) = items(&reply).iter().find(is_ours) else {
            let length = self.ask(cmd("XLEN").arg(self.name(which))).await?;
            return Ok(Standing { lag: number(&length), ..Standing::default() });
        };
        Ok(Standing {
            last_delivered: field(group, "last-delivered-id").and_then(id_of).unwrap_or_default(),
            pending: field(group, "pending").and_then(number).unwrap_or(0),
            lag: field(group, "lag").and_then(number),
        })
    }

    /// Removes consumers that have nothing pending and were inactive for `idle`.
    pub async fn remove_idle(&mut self, which: Which, idle: Duration) -> RedisResult<()> {
        let mut info = cmd("XINFO");
        info.arg("CONSUMERS").arg(self.name(which)).arg(&self.group);
        let reply = self.ask(&info).await?;
        for consumer in items(&reply) {
            let Some(name) = field(consumer, "name").map(bytes) else { continue };
            let is_idle = field(consumer, "idle").and_then(number) >= Some(millis(idle));
            let is_empty = field(consumer, "pending").and_then(number) == Some(0);
            if is_idle && is_empty && name != self.consumer.as_bytes() {
                self.remove(which, name).await?;
            }
        }
        Ok(())
    }

    /// Removes this consumer from the group, unless it has something pending.
    pub async fn leave(&mut self) -> RedisResult<()> {
        let consumer = self.consumer.clone();
        for which in self.all() {
            self.remove(which, consumer.as_bytes()).await?;
        }
        Ok(())
    }

    /// A consumer that has something pending stays. One that was silent for long may read at this
    /// very moment: what it then has is seen in the step that removes it, and given to it again.
    async fn remove(&mut self, which: Which, consumer: &[u8]) -> RedisResult<()> {
        let mut pending = cmd("XPENDING");
        pending.arg(self.name(which)).arg(&self.group).arg("-").arg("+");
        let one = pending.clone().arg(1).arg(consumer).clone();
        if !items(&self.ask(&one).await?).is_empty() {
            return Ok(());
        }
        let mut leave = cmd("XGROUP");
        leave.arg("DELCONSUMER").arg(self.name(which)).arg(&self.group).arg(consumer);
        pending.arg(u32::MAX).arg(consumer);
        let replies = self.transact(&[&pending, &leave]).await?.unwrap_or_default();
        let its = replies.first().map(items).unwrap_or_default();
        let ids: Vec<_> = its.iter().filter_map(|item| id_of(items(item).first()?)).collect();
        for ids in ids.chunks(PIECE) {
            let mut again = self.claiming(which, consumer, Duration::ZERO, ids);
            again.arg("FORCE").arg("JUSTID");
            self.ask(&again).await?;
        }
        Ok(())
    }

    /// Up to where every group has acknowledged all entries: the first id that a group still needs.
    /// None without a group.
    pub async fn needed_from(&mut self, which: Which) -> RedisResult<Option<EntryId>> {
        let mut info = cmd("XINFO");
        info.arg("GROUPS").arg(self.name(which));
        let groups = self.ask(&info).await?;
        let mut first: Option<EntryId> = None;
        for group in items(&groups) {
            let Some(name) = field(group, "name").map(bytes) else { return Ok(None) };
            let read = field(group, "last-delivered-id").and_then(id_of).unwrap_or_default();
            let mut needed = EntryId { seq: read.seq.saturating_add(1), ..read };
            if field(group, "pending").and_then(number) != Some(0) {
                let mut pending = cmd("XPENDING");
                pending.arg(self.name(which)).arg(name);
                let reply = self.ask(&pending).await?;
                let Some(pending) = items(&reply).get(1).and_then(id_of) else { continue };
                needed = needed.min(pending);
            }
            first = Some(first.map_or(needed, |first| first.min(needed)));
        }
        Ok(first)
    }
}

pub fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(items) => items,
        _ => &[],
    }
}

pub fn bytes(value: &Value) -> &[u8] {
    match value {
        Value::BulkString(bytes) => bytes,
        Value::SimpleString(text) => text.as_bytes(),
        _ => &[],
    }
}

pub fn number(value: &Value) -> Option<u64> {
    match value {
        Value::Int(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn id_of(value: &Value) -> Option<EntryId> {
    EntryId::parse(bytes(value))
}

/// The value that follows a name in a list of names and values.
pub fn field<'v>(value: &'v Value, name: &str) -> Option<&'v Value> {
    let mut pairs = items(value).chunks_exact(2);
    pairs.find(|pair| bytes(&pair[0]) == name.as_bytes()).map(|pair| &pair[1])
}

/// Entries, without those that were deleted from the stream.
pub fn entries_of(value: &Value) -> Vec<StreamEntry> {
    let entry = |value: &Value| {
        let [id, fields @ Value::Array(_)] = items(value) else { return None };
        let pairs = items(fields).chunks_exact(2);
        let fields = pairs.map(|pair| (bytes(&pair[0]).to_vec(), bytes(&pair[1]).to_vec()));
        Some(StreamEntry { id: id_of(id)?, fields: fields.collect() })
    };
    items(value).iter().filter_map(entry).collect()
}
