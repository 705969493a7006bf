//! The groups of streams: made, measured, trimmed by, and cleared of idle consumers.

use std::time::Duration;

use domain::entry_id::EntryId;
use redis::{Cmd, RedisResult, cmd, from_redis_value};
use seckill_tools::duration::millis;

use super::gap::{Gap, Positions, begun, made_again};
use super::reply::{self, GroupInfo, StreamInfo, Summary};
use super::{PIECE, Source, unanswered};
use crate::stream_entry::Which;

/// Unread entries are counted up to this, if the server can't say how many there are.
const UNREAD_MAX: u64 = 10_000;

/// The group's position in a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    pub pending: u64,
    pub lag: u64,
}

pub(super) fn xinfo(what: &str, name: &str) -> Cmd {
    let mut info = cmd("XINFO");
    info.arg(what).arg(name);
    info
}

impl Source {
    /// What is missing in streams whose group has to be made again. To be told before that: once it
    /// is made, nobody else knows that it was not.
    pub async fn gaps_of_missing_groups(
        &mut self,
        seen: &mut Positions,
    ) -> RedisResult<Vec<(Which, Gap)>> {
        let mut gaps = Vec::new();
        for which in self.all() {
            let groups = self.groups(which).await?;
            if self.ours(&groups).is_none() {
                let stream = self.stream(which).await?;
                gaps.extend(self.begin(which, &stream.unwrap_or_default(), seen).await?);
            }
        }
        Ok(gaps)
    }

    /// The group begins in this stream: what it will not read of the one that was there before.
    async fn begin(
        &mut self,
        which: Which,
        stream: &StreamInfo,
        seen: &mut Positions,
    ) -> RedisResult<Option<(Which, Gap)>> {
        let Some(before) = seen.insert(which, begun(stream)) else { return Ok(None) };
        let left = match before.at == EntryId::default() {
            true => Some(stream.length),
            false => self.counted(which, before.at, stream.last).await?,
        };
        let gap = made_again(&before, stream, left, self.now().await?);
        Ok(gap.map(|gap| (which, gap)))
    }

    /// Creates missing streams and groups. A new group begins with the first entry. Returns what
    /// went since the last look.
    pub async fn make_groups(&mut self, seen: &mut Positions) -> RedisResult<Vec<(Which, Gap)>> {
        let mut gaps = Vec::new();
        for which in self.all() {
            let name = self.name(which).to_owned();
            let begins = self.stream(which).await?.and_then(|stream| begun(&stream).number);
            let mut create = cmd("XGROUP");
            create.arg("CREATE").arg(&name).arg(&self.group).arg("0").arg("MKSTREAM");
            create.arg("ENTRIESREAD").arg(begins.unwrap_or_default());
            let look = xinfo("STREAM", &name);
            let replies = match self.transact(&[&create, &look]).await {
                Ok(replies) => replies.unwrap_or_default(),
                Err(error) if error.code() == Some("BUSYGROUP") => continue,
                Err(error) => return Err(error),
            };
            let stream = reply::stream_info(replies.last().ok_or_else(unanswered)?)?;
            gaps.extend(self.begin(which, &stream, seen).await?);
            // The stream may have been trimmed, deleted or made in between.
            self.correct(which, seen).await?;
        }
        Ok(gaps)
    }

    /// The id that an entry would have now, or a greater one.
    async fn now(&mut self) -> RedisResult<EntryId> {
        let (seconds, _): (u64, u64) = from_redis_value(self.ask(&cmd("TIME")).await?)?;
        Ok(EntryId { ms: seconds.saturating_add(1).saturating_mul(1_000), seq: 0 })
    }

    /// None if there is no such stream.
    pub async fn stream(&mut self, which: Which) -> RedisResult<Option<StreamInfo>> {
        match self.ask(&xinfo("STREAM", self.name(which))).await {
            Ok(reply) => reply::stream_info(&reply).map(Some),
            Err(error) if is_no_key(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// None of a stream that is not there.
    pub async fn groups(&mut self, which: Which) -> RedisResult<Vec<GroupInfo>> {
        match self.ask(&xinfo("GROUPS", self.name(which))).await {
            Ok(reply) => reply::groups(&reply),
            Err(error) if is_no_key(&error) => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    pub fn ours<'g>(&self, groups: &'g [GroupInfo]) -> Option<&'g GroupInfo> {
        groups.iter().find(|group| group.name == self.group.as_bytes())
    }

    /// Tells the server how many entries the group has passed, if that is known and nobody has read
    /// since. Redis 7.0 doesn't count those that were trimmed before they were read.
    pub async fn correct(&mut self, which: Which, seen: &Positions) -> RedisResult<()> {
        let passed = seen.get(&which).and_then(|passed| Some((passed.at, passed.number?)));
        let Some((at, number)) = passed else { return Ok(()) };
        let name = self.name(which).to_owned();
        self.ask(cmd("WATCH").arg(&name)).await?;
        let groups = self.groups(which).await?;
        let is_wrong = self
            .ours(&groups)
            .is_some_and(|group| group.last_delivered == at && group.read != Some(number));
        if !is_wrong {
            return self.ask(&cmd("UNWATCH")).await.map(|_| ());
        }
        let mut set = cmd("XGROUP");
        set.arg("SETID").arg(name).arg(&self.group).arg(at.to_string());
        set.arg("ENTRIESREAD").arg(number);
        self.transact(&[&set]).await.map(|_| ())
    }

    /// How many entries are pending in the group, by consumer.
    pub async fn summary(&mut self, which: Which) -> RedisResult<Summary> {
        let pending = self.pending(which);
        reply::summary(&self.ask(&pending).await?)
    }

    pub(super) fn pending(&self, which: Which) -> Cmd {
        let mut pending = cmd("XPENDING");
        pending.arg(self.name(which)).arg(&self.group);
        pending
    }

    /// How far the group is behind. The server's own lag also counts entries that are gone, and
    /// it may not know it, after a failover or after unread entries were deleted.
    pub async fn standing(&mut self, which: Which) -> RedisResult<Standing> {
        let stream = reply::stream_info(&self.ask(&xinfo("STREAM", self.name(which))).await?)?;
        let groups = self.groups(which).await?;
        let Some(group) = self.ours(&groups) else {
            return Ok(Standing { pending: 0, lag: stream.length });
        };
        let (last, pending) = (group.last_delivered, group.pending);
        let lag = match group.lag {
            _ if last >= stream.last => 0,
            _ if stream.first.is_none_or(|first| first > last) => stream.length,
            Some(lag) => lag.min(stream.length),
            None => self.unread(which, last, None).await?,
        };
        Ok(Standing { pending, lag })
    }

    /// How many entries are after one, up to another. None if they are too many to be counted.
    pub(super) async fn counted(
        &mut self,
        which: Which,
        last: EntryId,
        until: EntryId,
    ) -> RedisResult<Option<u64>> {
        let count = self.unread(which, last, Some(until)).await?;
        Ok(Some(count).filter(|count| *count < UNREAD_MAX))
    }

    /// How many entries are after one, up to another if there is one, counted up to a bound.
    pub async fn unread(
        &mut self,
        which: Which,
        last: EntryId,
        until: Option<EntryId>,
    ) -> RedisResult<u64> {
        let until = until.map_or_else(|| "+".to_owned(), |until| until.to_string());
        let (mut count, mut from) = (0, last);
        loop {
            let mut range = cmd("XRANGE");
            range.arg(self.name(which)).arg(format!("({from}")).arg(&until).arg("COUNT").arg(PIECE);
            let page = reply::entries(&self.ask(&range).await?)?;
            count += page.len() as u64;
            match page.last() {
                Some(last) if page.len() == PIECE && count < UNREAD_MAX => from = last.id,
                _ => return Ok(count),
            }
        }
    }

    /// Removes consumers that have nothing pending and were inactive for `idle`.
    pub async fn remove_idle(&mut self, which: Which, idle: Duration) -> RedisResult<()> {
        let mut info = xinfo("CONSUMERS", self.name(which));
        for consumer in reply::consumers(&self.ask(info.arg(&self.group)).await?)? {
            let is_idle = consumer.idle_ms >= millis(idle) && consumer.pending == 0;
            if is_idle && consumer.name != self.consumer.as_bytes() {
                self.remove(which, &consumer.name).await?;
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
        if !reply::pending(&self.ask(&one).await?)?.is_empty() {
            return Ok(());
        }
        let mut leave = cmd("XGROUP");
        leave.arg("DELCONSUMER").arg(self.name(which)).arg(&self.group).arg(consumer);
        pending.arg(u32::MAX).arg(consumer);
        let replies = self.transact(&[&pending, &leave]).await?.unwrap_or_default();
        let its = replies.first().map(reply::pending).transpose()?.unwrap_or_default();
        let ids: Vec<_> = its.iter().map(|pending| pending.id).collect();
        for ids in ids.chunks(PIECE) {
            let mut again = self.claiming(which, consumer, Duration::ZERO, ids);
            again.arg("FORCE").arg("JUSTID");
            self.ask(&again).await?;
        }
        Ok(())
    }

    /// Up to where every group has acknowledged all entries: the first id that a group still needs.
    /// None without a group.
    ///
    /// A group may acknowledge its last entry between the two looks at it. Then all that it had
    /// read at the first look is acknowledged.
    pub async fn needed_from(&mut self, which: Which) -> RedisResult<Option<EntryId>> {
        let mut first: Option<EntryId> = None;
        for group in self.groups(which).await? {
            let read = group.last_delivered;
            let mut needed = EntryId { seq: read.seq.saturating_add(1), ..read };
            if group.pending > 0 {
                let mut pending = cmd("XPENDING");
                pending.arg(self.name(which)).arg(&group.name);
                let pending = reply::summary(&self.ask(&pending).await?)?;
                needed = pending.first.map_or(needed, |pending| needed.min(pending));
            }
            first = Some(first.map_or(needed, |first| first.min(needed)));
        }
        Ok(first)
    }
}

fn is_no_key(error: &redis::RedisError) -> bool {
    error.code() == Some("ERR") && error.detail() == Some("no such key")
}
