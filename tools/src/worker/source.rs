//! The streams of a hash tag and a consumer of a group: what a worker tells and asks the server of
//! them. Each command is here once, and its answer is read typed.

pub mod reply;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use domain::entry_id::EntryId;
use domain::hash_tag::StrayBraces;
use domain::key_names::Naming;
use redis::{Cmd, ErrorKind, RedisError, RedisResult, Value, cmd};
use seckill_tools::connection::Connection;
use seckill_tools::duration::millis;

use crate::options::Streams;
use crate::order_events::{StreamEntry, Which};
use reply::{Claimed, GroupInfo, StreamInfo};

/// Entries that are asked for at a time.
pub const PIECE: usize = 1_000;
/// Unread entries are counted up to this, if the server can't say how many there are.
pub const UNREAD_MAX: u64 = 10_000;

#[derive(Clone)]
pub struct Source {
    connection: Connection,
    streams: Streams,
    group: String,
    consumer: String,
}

/// What a read has delivered of a stream, and what stood there before it.
#[derive(Debug)]
pub struct Delivery {
    pub which: Which,
    pub entries: Vec<StreamEntry>,
    pub stream: StreamInfo,
    pub group: GroupInfo,
}

/// The streams themselves, whoever reads them.
impl Source {
    pub fn new(
        connection: impl Into<Connection>,
        streams: Streams,
        group: &str,
        consumer: &str,
    ) -> Self {
        let [group, consumer] = [group, consumer].map(str::to_owned);
        Self { connection: connection.into(), streams, group, consumer }
    }

    pub fn group(&self) -> &str {
        &self.group
    }

    pub fn consumer(&self) -> &str {
        &self.consumer
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

    /// Whether the orders of a voucher are in this stream.
    pub fn has_stream_of(&self, voucher: &str) -> bool {
        let orders = self.name(Which::Orders);
        let base = orders.split(":{").next().unwrap_or_default();
        let naming = self.naming(voucher.as_bytes());
        naming.is_ok_and(|naming| naming.stream(base.as_bytes()) == orders.as_bytes())
    }

    /// The streams that are read.
    pub fn all(&self) -> Vec<Which> {
        match self.streams.confirmed {
            Some(_) => vec![Which::Orders, Which::Confirmed, Which::Released],
            None => vec![Which::Orders, Which::Released],
        }
    }

    pub fn connection(&mut self) -> &mut Connection {
        &mut self.connection
    }

    pub async fn ask(&mut self, command: &Cmd) -> RedisResult<Value> {
        command.query_async(&mut self.connection).await
    }

    /// Is there such a key, whatever it is?
    pub async fn is_there(&mut self, which: Which) -> RedisResult<bool> {
        let mut kind = cmd("TYPE");
        let kind: String = kind.arg(self.name(which)).query_async(&mut self.connection).await?;
        Ok(kind != "none")
    }

    /// None if there is no such stream.
    pub async fn stream(&mut self, which: Which) -> RedisResult<Option<StreamInfo>> {
        match self.ask(&self.info("STREAM", which)).await {
            Ok(reply) => reply::stream_info(&reply).map(Some),
            Err(error) if is_no_key(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// None of a stream that is not there.
    pub async fn groups(&mut self, which: Which) -> RedisResult<Vec<GroupInfo>> {
        match self.ask(&self.info("GROUPS", which)).await {
            Ok(reply) => reply::groups(&reply),
            Err(error) if is_no_key(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    /// The group of this consumer; none if there is no such group, or no such stream.
    pub async fn ours(&mut self, which: Which) -> RedisResult<Option<GroupInfo>> {
        let groups = self.groups(which).await?;
        Ok(groups.into_iter().find(|group| group.name == self.group.as_bytes()))
    }

    /// Creates missing streams and groups. A new group begins with the first entry. True if there
    /// was one to create.
    pub async fn make_groups(&mut self) -> RedisResult<bool> {
        let mut is_made = false;
        for which in self.all() {
            // A server without memory refuses to create even one that is there.
            if self.ours(which).await?.is_some() {
                continue;
            }
            let stream = self.stream(which).await?.unwrap_or_default();
            let mut create = cmd("XGROUP");
            create.arg("CREATE").arg(self.name(which)).arg(&self.group).arg("0");
            create.arg("MKSTREAM").arg("ENTRIESREAD");
            create.arg(stream.added.saturating_sub(stream.length));
            match self.ask(&create).await {
                Ok(_) => is_made = true,
                Err(error) if error.code() == Some("BUSYGROUP") => {}
                Err(error) => return Err(error),
            }
        }
        Ok(is_made)
    }

    pub fn info(&self, what: &str, which: Which) -> Cmd {
        let mut info = cmd("XINFO");
        info.arg(what).arg(self.name(which));
        info
    }

    /// An entry of a stream, if the stream still has it.
    pub async fn entry(&mut self, which: Which, id: EntryId) -> RedisResult<Option<StreamEntry>> {
        let id = id.to_string();
        Ok(self.range(which, &id, &id).await?.pop())
    }

    /// The first entries of a range.
    pub async fn range(
        &mut self,
        which: Which,
        from: &str,
        to: &str,
    ) -> RedisResult<Vec<StreamEntry>> {
        let mut range = cmd("XRANGE");
        range.arg(self.name(which)).arg(from).arg(to).arg("COUNT").arg(PIECE);
        reply::entries(self.ask(&range).await?)
    }

    /// All entries after one, read in pieces.
    pub async fn each_after(
        &mut self,
        which: Which,
        mut last: EntryId,
        mut look: impl FnMut(StreamEntry),
    ) -> RedisResult<()> {
        loop {
            let entries = self.range(which, &format!("({last}"), "+").await?;
            let is_end = entries.len() < PIECE;
            last = entries.last().map_or(last, |entry| entry.id);
            entries.into_iter().for_each(&mut look);
            if is_end {
                return Ok(());
            }
        }
    }

    /// How many entries are after one, counted up to a bound.
    pub async fn unread(&mut self, which: Which, last: EntryId) -> RedisResult<u64> {
        let (mut count, mut from) = (0, last);
        loop {
            let page = self.range(which, &format!("({from}"), "+").await?;
            count += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == PIECE && count < UNREAD_MAX => from = last.id,
                _ => return Ok(count),
            }
        }
    }

    pub fn pending(&self, which: Which, group: &[u8]) -> Cmd {
        let mut pending = cmd("XPENDING");
        pending.arg(self.name(which)).arg(group);
        pending
    }

    /// How often a pending entry was delivered; none if it is not pending.
    pub async fn deliveries(&mut self, which: Which, id: EntryId) -> RedisResult<Option<u64>> {
        let (text, mut pending) = (id.to_string(), self.pending(which, self.group.as_bytes()));
        pending.arg(&text).arg(&text).arg(1);
        match self.ask(&pending).await {
            Ok(found) => Ok(reply::pending(&found)?.first().map(|pending| pending.deliveries)),
            Err(error) if error.code() == Some("NOGROUP") => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// The entries of this consumer: how they become its own, and are its own no more.
impl Source {
    /// Entries of some streams that no consumer has read; in the same step, what stands there:
    /// later the server can't tell any more what it was.
    pub async fn read(&mut self, of: &[Which], count: u32) -> RedisResult<Vec<Delivery>> {
        let names: Vec<_> = of.iter().rev().map(|which| self.name(*which)).collect();
        let mut read = cmd("XREADGROUP");
        read.arg("GROUP").arg(&self.group).arg(&self.consumer).arg("COUNT").arg(count);
        read.arg("STREAMS").arg(names).arg(vec![">"; of.len()]);
        let looks = |which: &Which| [self.info("STREAM", *which), self.info("GROUPS", *which)];
        let looks: Vec<_> = of.iter().flat_map(looks).collect();
        let commands: Vec<&Cmd> = looks.iter().chain([&read]).collect();
        let mut looks = self.connection.at_once(&commands).await?;
        let Some(streams) = looks.pop() else { return Err(unanswered()) };
        let mut delivered = BTreeMap::new();
        for (name, entries) in reply::streams(streams)? {
            let its = of.iter().find(|which| self.name(**which).as_bytes() == name);
            let which = *its.ok_or_else(unanswered)?;
            delivered.insert(which, entries);
        }
        let with_looks = |(which, look): (&Which, &[Value])| {
            let (which, entries) = (*which, delivered.remove(which).unwrap_or_default());
            let (stream, groups) = (reply::stream_info(&look[0])?, reply::groups(&look[1])?);
            let group = groups.into_iter().find(|group| group.name == self.group.as_bytes());
            Ok(Delivery { which, entries, stream, group: group.ok_or_else(unanswered)? })
        };
        of.iter().zip(looks.chunks_exact(2)).map(with_looks).collect()
    }

    /// Takes over entries that were left for `idle`, from `start` on. Also where to continue; none
    /// at the end.
    pub async fn steal(
        &mut self,
        which: Which,
        idle: Duration,
        start: EntryId,
        count: u32,
    ) -> RedisResult<(Claimed, Option<EntryId>)> {
        let mut claim = cmd("XAUTOCLAIM");
        claim.arg(self.name(which)).arg(&self.group).arg(&self.consumer).arg(millis(idle));
        claim.arg(start.to_string()).arg("COUNT").arg(count);
        reply::taken(self.ask(&claim).await?)
    }

    /// The ids of all entries that are pending in a range, for this consumer alone or for any.
    pub async fn pending_ids(
        &mut self,
        which: Which,
        (first, last): (EntryId, EntryId),
        is_own: bool,
    ) -> RedisResult<Vec<EntryId>> {
        let (mut found, mut from) = (Vec::new(), first.to_string());
        loop {
            let mut pending = self.pending(which, self.group.as_bytes());
            pending.arg(&from).arg(last.to_string()).arg(PIECE);
            if is_own {
                pending.arg(&self.consumer);
            }
            let page = reply::pending(&self.ask(&pending).await?)?;
            found.extend(page.iter().map(|pending| pending.id));
            match page.last() {
                Some(end) if page.len() == PIECE => from = format!("({}", end.id),
                _ => return Ok(found),
            }
        }
    }

    /// Delivers own pending entries again.
    pub async fn claim(&mut self, which: Which, ids: &[EntryId]) -> RedisResult<Claimed> {
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
            return Ok(Claimed::default());
        };
        let mut own = self.pending_ids(which, (*first, *last), true).await?;
        own.retain(|id| ids.contains(id));
        let mut others: BTreeSet<_> = ids.into_iter().filter(|id| !own.contains(id)).collect();
        if own.is_empty() {
            return Ok(Claimed { others, ..Claimed::default() });
        }
        // What is pending in this step and is not delivered is no longer in the stream.
        let look = |id: &EntryId| {
            let (id, mut pending) = (id.to_string(), self.pending(which, self.group.as_bytes()));
            pending.arg(&id).arg(&id).arg(1).arg(&self.consumer);
            pending
        };
        let looks: Vec<_> = own.iter().map(look).collect();
        let claim = self.claiming(which, self.consumer.as_bytes(), &own);
        let commands: Vec<&Cmd> = looks.iter().chain([&claim]).collect();
        let mut looks = self.connection.at_once(&commands).await?;
        let Some(claimed) = looks.pop() else { return Err(unanswered()) };
        let entries = reply::entries(claimed)?;
        let has: BTreeSet<_> = entries.iter().map(|entry| entry.id).collect();
        let mut deleted = Vec::new();
        for (id, look) in own.into_iter().zip(&looks).filter(|(id, _)| !has.contains(id)) {
            match reply::pending(look)?.is_empty() {
                true => _ = others.insert(id),
                false => deleted.push(id),
            }
        }
        Ok(Claimed { entries, deleted, others })
    }

    /// Gives entries to a consumer, however short they were idle.
    pub fn claiming(&self, which: Which, consumer: &[u8], ids: &[EntryId]) -> Cmd {
        let mut claim = cmd("XCLAIM");
        claim.arg(self.name(which)).arg(&self.group).arg(consumer).arg(0);
        ids.iter().for_each(|id| _ = claim.arg(id.to_string()));
        claim
    }

    pub fn acknowledging(&self, which: Which, ids: &[EntryId]) -> Cmd {
        let mut ack = cmd("XACK");
        ack.arg(self.name(which)).arg(&self.group);
        ids.iter().for_each(|id| _ = ack.arg(id.to_string()));
        ack
    }

    pub async fn acknowledge(&mut self, which: Which, ids: &[EntryId]) -> RedisResult<()> {
        if ids.is_empty() {
            return Ok(());
        }
        let ack = self.acknowledging(which, ids);
        reply::number("XACK", &self.ask(&ack).await?)?;
        Ok(())
    }
}

pub fn unanswered() -> RedisError {
    RedisError::from((ErrorKind::UnexpectedReturnType, "the server's answer lacks what was asked"))
}

fn is_no_key(error: &RedisError) -> bool {
    error.code() == Some("ERR") && error.detail() == Some("no such key")
}
