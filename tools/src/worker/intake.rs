//! What is read of the streams of one hash tag, how entries become this consumer's, and what is
//! gone before anybody has read it.

mod asked;
mod gone;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use redis::{RedisResult, cmd};
use seckill_tools::duration::millis;
use seckill_tools::server_errors::is_full;
use tracing::{debug, warn};

use crate::halt::Halt;
use crate::in_flight::{InFlight, Shared};
use crate::options::OnZeroRows;
use crate::order_events::{StreamEntry, Which};
use crate::source::{Delivery, PIECE, Source, reply};
use crate::totals::Count;
use asked::Asked;
use gone::{Gone, gone_unread};

/// How long one read waits for entries, which bounds how long the worker may take to notice a stop.
pub const BLOCK: Duration = Duration::from_millis(500);
/// Consumers with nothing pending are removed when inactive for this many times the take-over time,
/// and longer than any worker that reads is.
const IDLE_TIMES: u32 = 10;
const IDLE_MIN: Duration = BLOCK.saturating_mul(4);

pub struct Intake {
    shared: Shared,
    pub in_flight: InFlight,
    /// The last entry that was ever appended, at the last read.
    last: BTreeMap<Which, EntryId>,
    /// The greatest entry that was deleted unread.
    deleted: BTreeMap<Which, EntryId>,
}

/// What was read of some streams.
pub struct ReadBatch {
    of: Vec<Which>,
    entries: Vec<(Which, StreamEntry)>,
    /// Entries that were deleted before they were read, at least.
    gone: u64,
    /// A stream had as many as were asked for.
    is_full: bool,
}

impl Intake {
    pub fn new(shared: Shared, orders: &str) -> Self {
        let in_flight = InFlight::new(shared.clone(), orders);
        Self { shared, in_flight, last: BTreeMap::new(), deleted: BTreeMap::new() }
    }

    /// Handles entries that are pending for this consumer but unknown to it: those of an earlier
    /// worker of this name, or delivered when a connection broke.
    pub async fn recover(&mut self, source: &mut Source) -> Result<(), Halt> {
        for which in source.all() {
            let all = (EntryId::default(), EntryId { ms: u64::MAX, seq: u64::MAX });
            let mut ids = source.pending_ids(which, all, true).await?;
            ids.retain(|id| !self.in_flight.parked().knows((which, *id)));
            self.claim(source, which, &ids).await?;
        }
        Ok(())
    }

    /// Tries entries that are due. True if there were any.
    pub async fn retry(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let due = self.in_flight.take_due();
        let has_any = !due.is_empty();
        for (which, ids) in due {
            self.claim(source, which, &ids).await?;
        }
        Ok(has_any)
    }

    async fn claim(
        &mut self,
        source: &mut Source,
        which: Which,
        ids: &[EntryId],
    ) -> Result<(), Halt> {
        for ids in ids.chunks((self.shared.options.batch as usize).min(PIECE)) {
            let claimed = source.claim(which, ids).await?;
            self.in_flight.take(source, which, claimed).await?;
        }
        Ok(())
    }

    /// Asks for new entries. The request goes now, and the answer is read later. Orders are not
    /// read while an operator must look first.
    pub async fn ask(&self, source: &Source) -> Asked {
        let is_stuck = self.in_flight.parked().has_unchanged();
        let is_open = self.shared.options.on_zero_rows != OnZeroRows::Stop || !is_stuck;
        self.shared.totals.intake(source.name(Which::Orders), is_open);
        let mut of = source.all();
        of.retain(|which| is_open || *which != Which::Orders);
        Asked::of(source, of, self.in_flight.count()).await
    }

    /// Reads the entries that were asked for, and sees what is gone.
    pub async fn read(&mut self, source: &mut Source, asked: Asked) -> RedisResult<ReadBatch> {
        let (of, count) = (asked.of.clone(), asked.count as usize);
        let mut read = ReadBatch { of, entries: Vec::new(), gone: 0, is_full: false };
        for delivery in asked.answer().await? {
            let Delivery { which, entries, stream, group } = delivery;
            match gone_unread(&stream, &group) {
                Gone::Nothing => {}
                Gone::Trimmed(gone) => {
                    let (count, last) = (entries.len() as u64, entries.last().map(|it| it.id));
                    let passed = stream.added.saturating_sub(stream.length.saturating_sub(count));
                    correct(source, which, last.unwrap_or(group.last_delivered), passed).await?;
                    read.gone += gone;
                }
                // Once for each that is the greatest.
                Gone::Deleted(id) => {
                    let is_new = self.deleted.insert(which, id) != Some(id);
                    read.gone += u64::from(is_new);
                }
            }
            self.last.insert(which, stream.last.max(entries.last().map_or(stream.last, |e| e.id)));
            read.is_full |= entries.len() >= count;
            read.entries.extend(entries.into_iter().map(|entry| (which, entry)));
        }
        Ok(read)
    }

    /// Asks for what comes after a read, if there is probably more: before rows are locked, so that
    /// the server answers while they are written. Not if an operator may have to look first.
    pub async fn ask_on(&self, source: &Source, read: &ReadBatch) -> Option<Asked> {
        let may_stop =
            self.shared.options.on_zero_rows == OnZeroRows::Stop || *self.shared.stop.borrow();
        match read.is_full && !may_stop {
            true => Some(self.ask(source).await),
            false => None,
        }
    }

    /// Handles what was read. True if that was anything; otherwise it has waited for some, unless
    /// the worker ends when there is none.
    pub async fn handle(
        &mut self,
        source: &mut Source,
        ReadBatch { of, entries, gone, .. }: ReadBatch,
    ) -> Result<bool, Halt> {
        if gone > 0 {
            self.uncheck(source, "entries were deleted unread", gone).await?;
        }
        let has_any = !entries.is_empty();
        if has_any {
            entries.into_iter().for_each(|(which, entry)| self.in_flight.add(which, entry));
            self.in_flight.finish(source).await?;
        }
        self.note_gone(source).await?;
        if !has_any && !self.shared.options.once {
            let due = self.in_flight.parked().next_due();
            let until_due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let wait = until_due.map_or(BLOCK, |wait| wait.min(BLOCK));
            self.wait(source, &of, wait).await?;
        }
        Ok(has_any)
    }

    /// Notes entries that were deleted while they were pending, or could not be read.
    pub async fn note_gone(&mut self, source: &Source) -> Result<(), Halt> {
        let (deleted, has_unreadable) = self.in_flight.take_gone();
        if deleted > 0 {
            let why = "entries were deleted while they were pending";
            self.uncheck(source, why, deleted).await?;
        }
        if has_unreadable {
            self.uncheck(source, "an entry could not be read", 0).await?;
        }
        Ok(())
    }

    /// Rows and server may differ from now on.
    pub async fn uncheck(&mut self, source: &Source, why: &str, deleted: u64) -> Result<(), Halt> {
        let (orders, group) = (source.name(Which::Orders), source.group());
        match deleted {
            0 => warn!("{orders} is to be checked: {why}"),
            deleted => warn!("{orders} is to be checked: {why}, {deleted} at least"),
        }
        self.shared.totals.add(Count::Deleted, usize::try_from(deleted).unwrap_or(usize::MAX));
        self.shared.totals.unchecked(orders, true);
        self.in_flight.ask(async |store| store.uncheck(orders, group, why, deleted).await).await
    }

    /// Takes over entries that other workers have left. True if there were any.
    ///
    /// These may be entries of a live worker that can't reach the database. An entry that two
    /// workers write still becomes one row.
    pub async fn steal(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let mut has_stolen = false;
        let idle = self.shared.options.claim_after;
        for which in source.all() {
            let mut next = Some(EntryId::default());
            while let Some(start) = next {
                let (mut claimed, more) =
                    source.steal(which, idle, start, self.shared.options.batch).await?;
                next = more;
                // Entries that are parked here have their own time of retry.
                let parked = self.in_flight.parked();
                claimed.entries.retain(|entry| !parked.knows((which, entry.id)));
                if !claimed.entries.is_empty() {
                    has_stolen = true;
                    let (count, name) = (claimed.entries.len(), source.name(which));
                    debug!("took over {count} entries of {name}");
                }
                self.in_flight.take(source, which, claimed).await?;
                if *self.shared.stop.borrow() {
                    return Ok(has_stolen);
                }
            }
            remove_idle(source, which, (idle * IDLE_TIMES).max(IDLE_MIN)).await?;
        }
        Ok(has_stolen)
    }

    /// Waits until one of these streams has another entry than those that were seen: reading it is
    /// another step, which also sees what is gone.
    async fn wait(&self, source: &mut Source, of: &[Which], wait: Duration) -> RedisResult<()> {
        let names: Vec<_> = of.iter().map(|which| source.name(*which)).collect();
        let last = |which| self.last.get(which).map_or_else(|| "$".to_owned(), ToString::to_string);
        let mut read = cmd("XREAD");
        read.arg("COUNT").arg(1).arg("BLOCK").arg(millis(wait).max(1)).arg("STREAMS").arg(names);
        source.ask(read.arg(of.iter().map(last).collect::<Vec<_>>())).await.map(|_| ())
    }

    /// Trims the streams by what every group has acknowledged, and by age. What groups have
    /// acknowledged stays so, and an id begins with its entry's time: nothing that happens
    /// meanwhile makes an older entry needed.
    pub async fn trim(&self, source: &mut Source, after: Duration) -> RedisResult<()> {
        for which in source.all() {
            let Some(needed) = needed_from(source, which).await? else { continue };
            let now_ms = source.connection().time_ms().await?.unsigned_abs();
            let old = now_ms.saturating_sub(millis(after)).saturating_add(1);
            let until = needed.min(EntryId { ms: old, seq: 0 });
            let mut trim = cmd("XTRIM");
            trim.arg(source.name(which)).arg("MINID").arg("=").arg(until.to_string());
            let trimmed: usize = trim.query_async(source.connection()).await?;
            self.shared.totals.add(Count::Trimmed, trimmed);
        }
        Ok(())
    }
}

/// Tells the server how many entries the group has passed, if nobody has read since: it doesn't
/// count those that were gone before they were read.
async fn correct(source: &mut Source, which: Which, at: EntryId, passed: u64) -> RedisResult<()> {
    let name = source.name(which).to_owned();
    source.ask(cmd("WATCH").arg(&name)).await?;
    let is_wrong = source
        .ours(which)
        .await?
        .is_some_and(|group| group.last_delivered == at && group.read != Some(passed));
    if !is_wrong {
        return source.ask(&cmd("UNWATCH")).await.map(|_| ());
    }
    let mut set = cmd("XGROUP");
    set.arg("SETID").arg(name).arg(source.group()).arg(at.to_string());
    set.arg("ENTRIESREAD").arg(passed);
    match source.connection().transact(&[&set]).await {
        // The next read tells it again.
        Err(error) if !is_full(&error) => Err(error),
        _ => Ok(()),
    }
}

/// Up to where every group has acknowledged all entries: the first id that a group still needs.
/// None without a group.
///
/// A group may acknowledge its last entry between the two looks at it. Then all that it had read at
/// the first look is acknowledged.
async fn needed_from(source: &mut Source, which: Which) -> RedisResult<Option<EntryId>> {
    let mut first: Option<EntryId> = None;
    for group in source.groups(which).await? {
        let read = group.last_delivered;
        let mut needed = EntryId { seq: read.seq.saturating_add(1), ..read };
        if group.pending > 0 {
            let mut pending = source.pending(which, &group.name);
            let first = reply::pending(&source.ask(pending.arg("-").arg("+").arg(1)).await?)?;
            needed = first.first().map_or(needed, |first| needed.min(first.id));
        }
        first = Some(first.map_or(needed, |first| first.min(needed)));
    }
    Ok(first)
}

/// Removes consumers that have nothing pending and were inactive for `idle`.
async fn remove_idle(source: &mut Source, which: Which, idle: Duration) -> RedisResult<()> {
    let mut info = source.info("CONSUMERS", which);
    info.arg(source.group());
    for consumer in reply::consumers(&source.ask(&info).await?)? {
        let is_idle = consumer.idle_ms >= millis(idle) && consumer.pending == 0;
        if is_idle && consumer.name != source.consumer().as_bytes() {
            remove(source, which, &consumer.name).await?;
        }
    }
    Ok(())
}

/// Removes this consumer from the group, unless it has something pending.
pub async fn leave(source: &mut Source) -> RedisResult<()> {
    let consumer = source.consumer().to_owned();
    for which in source.all() {
        remove(source, which, consumer.as_bytes()).await?;
    }
    Ok(())
}

/// A consumer that has something pending stays. One that was silent for long may read at this very
/// moment: what it then has is seen in the step that removes it, and given to it again.
async fn remove(source: &mut Source, which: Which, consumer: &[u8]) -> RedisResult<()> {
    let mut pending = source.pending(which, source.group().as_bytes());
    pending.arg("-").arg("+");
    let one = pending.clone().arg(1).arg(consumer).clone();
    if !reply::pending(&source.ask(&one).await?)?.is_empty() {
        return Ok(());
    }
    let mut leave = cmd("XGROUP");
    leave.arg("DELCONSUMER").arg(source.name(which)).arg(source.group()).arg(consumer);
    pending.arg(u32::MAX).arg(consumer);
    let replies = match source.connection().transact(&[&pending, &leave]).await {
        // It stays until there is memory.
        Err(error) if is_full(&error) => return Ok(()),
        replies => replies?.unwrap_or_default(),
    };
    let its = replies.first().map(reply::pending).transpose()?.unwrap_or_default();
    let ids: Vec<_> = its.iter().map(|pending| pending.id).collect();
    for ids in ids.chunks(PIECE) {
        let mut again = source.claiming(which, consumer, ids);
        source.ask(again.arg("FORCE").arg("JUSTID")).await?;
    }
    Ok(())
}
