//! The entries that are pending for this consumer.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::entry_id::EntryId;
use redis::{Cmd, RedisResult, Value, cmd};
use seckill_tools::duration::millis;

use super::{PIECE, Source, reply, unanswered};
use crate::stream_entry::{StreamEntry, Which};

/// Own entries that were delivered again.
#[derive(Debug, Default)]
pub struct Claimed {
    pub entries: Vec<StreamEntry>,
    /// Those that were pending, and that are no longer in the stream. The group has forgotten them
    /// now.
    pub deleted: Vec<EntryId>,
    /// Those that are not pending for this consumer.
    pub others: BTreeSet<EntryId>,
}

impl Source {
    fn own_of(&self, which: Which, from: &str, to: &str, count: usize) -> Cmd {
        let mut pending = cmd("XPENDING");
        pending.arg(self.name(which)).arg(&self.group).arg(from).arg(to);
        pending.arg(count).arg(&self.consumer);
        pending
    }

    /// Ids greater than `after` that are pending for this consumer.
    pub async fn own(&mut self, which: Which, after: EntryId) -> RedisResult<Vec<EntryId>> {
        let pending = self.own_of(which, &format!("({after}"), "+", PIECE);
        let own = reply::pending(&self.ask(&pending).await?)?;
        Ok(own.into_iter().map(|pending| pending.id).collect())
    }

    /// Delivers own pending entries again.
    pub async fn claim(&mut self, which: Which, ids: &[EntryId]) -> RedisResult<Claimed> {
        let ids: BTreeSet<_> = ids.iter().copied().collect();
        let own: Vec<_> = self.own_among(which, &ids).await?.into_iter().collect();
        let mut others: BTreeSet<_> = ids.into_iter().filter(|id| !own.contains(id)).collect();
        if own.is_empty() {
            return Ok(Claimed { others, ..Claimed::default() });
        }
        self.owned.remove(&which);
        // What is pending in this step and is not delivered is no longer in the stream.
        let look = |id: &EntryId| self.own_of(which, &id.to_string(), &id.to_string(), 1);
        let looks: Vec<_> = own.iter().map(look).collect();
        let claim = self.claiming(which, self.consumer.as_bytes(), Duration::ZERO, &own);
        let commands: Vec<&Cmd> = looks.iter().chain([&claim]).collect();
        let replies = self.transact(&commands).await?.unwrap_or_default();
        let Some((claimed, looks)) = replies.split_last() else { return Err(unanswered()) };
        let entries = reply::entries(claimed)?;
        let has: BTreeSet<_> = entries.iter().map(|entry| entry.id).collect();
        let mut deleted = Vec::new();
        for (id, look) in own.into_iter().zip(looks).filter(|(id, _)| !has.contains(id)) {
            match reply::pending(look)?.is_empty() {
                true => _ = others.insert(id),
                false => deleted.push(id),
            }
        }
        Ok(Claimed { entries, deleted, others })
    }

    /// Those of these entries that were pending for this consumer and are not any more. If as many
    /// are pending as were read, all of them are, and need not be listed.
    pub async fn gone(
        &mut self,
        which: Which,
        ids: &BTreeSet<EntryId>,
    ) -> RedisResult<BTreeSet<EntryId>> {
        let pending = match self.summary(which).await {
            Ok(pending) => pending,
            // The group, or its stream, was deleted.
            Err(error) if error.code() == Some("NOGROUP") => return Ok(ids.clone()),
            Err(error) => return Err(error),
        };
        let own = pending.of.iter().find(|(name, _)| name == self.consumer.as_bytes());
        let own = own.map_or(0, |(_, count)| *count);
        if self.owned.get(&which) == Some(&own) {
            return Ok(BTreeSet::new());
        }
        let pending = self.own_among(which, ids).await?;
        let gone: BTreeSet<_> = ids.difference(&pending).copied().collect();
        // What is gone once must be found again when the batch is tried again.
        match gone.is_empty() {
            true => self.owned.insert(which, own),
            false => self.owned.remove(&which),
        };
        Ok(gone)
    }

    /// Those of these entries that are pending for this consumer.
    async fn own_among(
        &mut self,
        which: Which,
        ids: &BTreeSet<EntryId>,
    ) -> RedisResult<BTreeSet<EntryId>> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
            return Ok(BTreeSet::new());
        };
        let (mut found, mut from) = (BTreeSet::new(), first.to_string());
        loop {
            let pending = self.own_of(which, &from, &last.to_string(), PIECE);
            let page = reply::pending(&self.ask(&pending).await?)?;
            found.extend(page.iter().map(|pending| pending.id).filter(|id| ids.contains(id)));
            match page.last() {
                Some(end) if page.len() == PIECE => from = format!("({}", end.id),
                _ => return Ok(found),
            }
        }
    }

    /// Takes an own entry once more, which is a write, and waits for replicas: how many have it.
    pub async fn replicas_of(
        &mut self,
        (which, id): (Which, EntryId),
        replicas: u32,
        wait: Duration,
    ) -> RedisResult<u64> {
        let mut both = redis::pipe();
        let consumer = self.consumer.as_bytes();
        let mut claim = self.claiming(which, consumer, Duration::ZERO, &[id]);
        both.add_command(claim.arg("JUSTID").clone());
        both.cmd("WAIT").arg(replicas).arg(millis(wait));
        let (_, have): (Value, u64) = both.query_async(&mut self.connection).await?;
        Ok(have)
    }

    pub(super) fn claiming(
        &self,
        which: Which,
        consumer: &[u8],
        idle: Duration,
        ids: &[EntryId],
    ) -> Cmd {
        let mut claim = cmd("XCLAIM");
        claim.arg(self.name(which)).arg(&self.group).arg(consumer).arg(millis(idle));
        for id in ids {
            claim.arg(id.to_string());
        }
        claim
    }
}
