//! The entries that are pending for this consumer.

use std::collections::BTreeSet;
use std::time::Duration;

use domain::entry_id::EntryId;
use domain::integer;
use redis::{Cmd, RedisResult, Value, cmd};
use seckill_tools::duration::millis;

use super::{PIECE, Source, bytes, entries_of, id_of, items};
use crate::stream_entry::{StreamEntry, Which};

impl Source {
    /// Ids greater than `after` that are pending for this consumer.
    pub async fn own(&mut self, which: Which, after: EntryId) -> RedisResult<Vec<EntryId>> {
        let mut pending = cmd("XPENDING");
        pending.arg(self.name(which)).arg(&self.group).arg(format!("({after}")).arg("+");
        pending.arg(PIECE).arg(&self.consumer);
        let reply = self.ask(&pending).await?;
        Ok(items(&reply).iter().filter_map(|item| id_of(items(item).first()?)).collect())
    }

    /// Delivers pending entries again, to this consumer, except entries that are settled or that a
    /// consumer (or this one) took within `idle`.
    pub async fn claim(
        &mut self,
        which: Which,
        idle: Duration,
        ids: &[EntryId],
    ) -> RedisResult<Vec<StreamEntry>> {
        self.owned.remove(&which);
        let reply = self.ask(&self.claiming(which, self.consumer.as_bytes(), idle, ids)).await?;
        Ok(entries_of(&reply))
    }

    /// Those of these entries that were pending for this consumer and are not any more. If as many
    /// are pending as were read, all of them are, and need not be listed.
    pub async fn gone(
        &mut self,
        which: Which,
        ids: &BTreeSet<EntryId>,
    ) -> RedisResult<BTreeSet<EntryId>> {
        let mut summary = cmd("XPENDING");
        summary.arg(self.name(which)).arg(&self.group);
        let reply = self.ask(&summary).await?;
        let consumers = items(&reply).get(3).map(items).unwrap_or_default();
        let own = consumers.iter().find_map(|consumer| match items(consumer) {
            [name, count] if bytes(name) == self.consumer.as_bytes() => Some(bytes(count)),
            _ => None,
        });
        let own = own.and_then(integer::parse_digits).unwrap_or(0);
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
    pub async fn own_among(
        &mut self,
        which: Which,
        ids: &BTreeSet<EntryId>,
    ) -> RedisResult<BTreeSet<EntryId>> {
        let (Some(first), Some(last)) = (ids.first(), ids.last()) else {
            return Ok(BTreeSet::new());
        };
        let (mut found, mut from) = (BTreeSet::new(), first.to_string());
        loop {
            let mut pending = cmd("XPENDING");
            pending.arg(self.name(which)).arg(&self.group).arg(&from).arg(last.to_string());
            pending.arg(PIECE).arg(&self.consumer);
            let reply = self.ask(&pending).await?;
            let page = items(&reply);
            let own = page.iter().filter_map(|item| id_of(items(item).first()?));
            let mut end = None;
            for id in own {
                end = Some(id);
                if ids.contains(&id) {
                    found.insert(id);
                }
            }
            match end {
                Some(end) if page.len() == PIECE => from = format!("({end}"),
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
