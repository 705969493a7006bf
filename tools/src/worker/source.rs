//! The streams of a hash tag, read as a consumer of a group.

mod dead_letters;
pub mod gap;
pub mod groups;
mod pending;
pub mod reply;

use std::collections::BTreeMap;
use std::time::Duration;

use domain::entry_id::EntryId;
use domain::hash_tag::StrayBraces;
use domain::key_names::Naming;
use redis::aio::MultiplexedConnection;
use redis::{Cmd, ErrorKind, Pipeline, RedisError, RedisResult, Value, cmd};
use seckill_tools::duration::millis;

use crate::options::Streams;
use crate::stream_entry::{StreamEntry, Which};
use gap::{Gap, Positions, must_count, passed};
use groups::xinfo;
use reply::Taken;

/// Entries that are asked for at a time.
const PIECE: usize = 1_000;

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

/// What was read, and what was found to be missing before it.
#[derive(Debug, Default)]
pub struct Read {
    pub delivered: Delivered,
    pub gaps: Vec<(Which, Gap)>,
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

    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn name(&self, which: Which) -> &str {
        match which {
            Which::Orders => &self.streams.orders,
            Which::Confirmed => self.streams.confirmed.as_deref().unwrap_or_default(),
            Which::Released => &self.streams.released,
        }
    }

    /// How the keys of a voucher in these streams are named.
    pub fn naming<'v>(&self, voucher: &'v [u8]) -> Result<Naming<'v>, StrayBraces> {
        Naming::of(voucher, self.name(Which::Orders).ends_with('}'))
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

    /// Runs commands in a transaction. None if a watched key has changed.
    async fn transact(&mut self, commands: &[&Cmd]) -> RedisResult<Option<Vec<Value>>> {
        let mut all = Pipeline::new();
        all.atomic();
        for command in commands {
            all.add_command((*command).clone());
        }
        all.query_async(&mut self.connection).await.map_err(|error| its_reason(&error))
    }

    /// Entries of some streams that no consumer has read, and those that are missing before them:
    /// later the server can't tell any more what it was.
    pub async fn read(
        &mut self,
        of: &[Which],
        count: u32,
        seen: &mut Positions,
    ) -> RedisResult<Read> {
        let names: Vec<_> = of.iter().rev().map(|which| self.name(*which)).collect();
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.consumer).arg("COUNT").arg(count);
        read.arg("STREAMS").arg(names).arg(vec![">"; of.len()]);
        let looks = |which: &Which| {
            let name = self.name(*which);
            [xinfo("STREAM", name), xinfo("GROUPS", name), self.pending(*which)]
        };
        let looks: Vec<_> = of.iter().flat_map(looks).collect();
        let commands: Vec<&Cmd> = looks.iter().chain([&read]).collect();
        let replies = self.transact(&commands).await?.unwrap_or_default();
        let Some((streams, looks)) = replies.split_last() else { return Err(unanswered()) };
        let mut result = Read::default();
        for (name, entries) in reply::streams(streams)? {
            let its = of.iter().find(|which| self.name(**which).as_bytes() == name);
            let which = *its.ok_or_else(unanswered)?;
            self.owned.entry(which).and_modify(|owned| *owned += entries.len() as u64);
            result.delivered.insert(which, entries);
        }
        for (which, look) in of.iter().zip(looks.chunks_exact(3)) {
            let (stream, groups) = (reply::stream_info(&look[0])?, reply::groups(&look[1])?);
            let group = self.ours(&groups).ok_or_else(unanswered)?;
            let pending = reply::summary(&look[2])?.first;
            let its = result.delivered.get(which).map(Vec::as_slice).unwrap_or_default();
            let ids: Vec<_> = its.iter().map(|entry| entry.id).collect();
            let before = seen.get(which);
            let since = match before.filter(|before| must_count(before, &stream, group)) {
                Some(before) => self.counted(*which, before.at, stream.last).await?,
                None => None,
            };
            let (look, more) = ((&stream, group), (pending, since));
            let (now, gap) = passed(before, look, more, &ids, u64::from(count));
            seen.insert(*which, now);
            result.gaps.extend(gap.map(|gap| (*which, gap)));
        }
        Ok(result)
    }

    /// Waits until one of these streams has another entry than those that were seen: reading it is
    /// another step, which also sees what is missing.
    pub async fn wait(
        &mut self,
        of: &[Which],
        seen: &Positions,
        wait: Duration,
    ) -> RedisResult<()> {
        let names: Vec<_> = of.iter().map(|which| self.name(*which)).collect();
        let last = |which| seen.get(which).map_or_else(|| "$".to_owned(), |it| it.last.to_string());
        let mut read = cmd("XREAD");
        read.arg("COUNT").arg(1).arg("BLOCK").arg(millis(wait).max(1)).arg("STREAMS").arg(names);
        read.arg(of.iter().map(last).collect::<Vec<_>>());
        self.ask(&read).await.map(|_| ())
    }

    /// Takes over entries that were left for `idle`, from `start` on.
    pub async fn steal(
        &mut self,
        which: Which,
        idle: Duration,
        start: EntryId,
        count: u32,
    ) -> RedisResult<Taken> {
        let mut claim = cmd("XAUTOCLAIM");
        claim.arg(self.name(which)).arg(&self.group).arg(&self.consumer).arg(millis(idle));
        claim.arg(start.to_string()).arg("COUNT").arg(count);
        self.owned.remove(&which);
        reply::taken(&self.ask(&claim).await?)
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
        let acknowledged = reply::number("XACK", &self.ask(&ack).await?)?;
        self.owned.entry(which).and_modify(|owned| *owned = owned.saturating_sub(acknowledged));
        Ok(())
    }
}

/// Why a transaction was refused: the error of the command that was. A group that is missing says
/// more than its stream, which is missing, too.
fn its_reason(error: &RedisError) -> RedisError {
    let errors = error.clone().into_server_errors();
    let all: Vec<RedisError> =
        errors.iter().flat_map(|all| all.iter()).map(|(_, one)| one.clone().into()).collect();
    let group = all.iter().find(|one| one.code() == Some("NOGROUP"));
    group.or(all.first()).unwrap_or(error).clone()
}

fn unanswered() -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "the server's answer lacks what was asked"))
}

/// The items of a list.
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
