//! What a worker takes in: entries that nobody has read, and what is missing before them, which is
//! told from where the group was. That is kept, also in the worker's tables: a worker that starts
//! later sees what is missing after it.

pub mod gap;

use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use redis::{RedisResult, cmd};
use seckill_tools::duration::millis;
use seckill_tools::sanitize::sanitize;
use tracing::debug;

use crate::halt::{Halt, Stop};
use crate::hand::Hand;
use crate::options::{OnNoRow, Options};
use crate::order_events::{StreamEntry, Which};
use crate::source::reply::{self, StreamInfo};
use crate::source::{Delivery, PIECE, Source, UNREAD_MAX, unanswered};
use crate::store::Store;
use crate::stream_consumer::Shared;
use crate::tend::time_ms;
use crate::totals::Totals;
use gap::{Gap, Positions, begun, made_again, must_count, passed};

/// How long a read waits for entries, and so how long the worker may take to notice a stop.
pub const BLOCK: Duration = Duration::from_millis(500);
/// Consumers with nothing pending are removed when inactive for this many times the take-over time,
/// and longer than any worker that reads is.
const IDLE_TIMES: u32 = 10;
const IDLE_MIN: Duration = BLOCK.saturating_mul(4);

pub struct Intake {
    options: Arc<Options>,
    totals: Arc<Totals>,
    store: Arc<Store>,
    stop: Stop,
    /// Where the group was at the last look; it outlives connections.
    seen: Positions,
    /// Those of `seen` that are in the worker's tables.
    saved: Positions,
    /// What is missing. It is told also if the server fails before.
    untold: Gaps,
}

/// Where entries are missing.
pub type Gaps = Vec<(Which, Gap)>;

/// What was read of some streams.
pub struct Read {
    of: Vec<Which>,
    entries: Vec<(Which, StreamEntry)>,
}

impl Intake {
    pub fn new((options, totals, store): Shared, stop: Stop) -> Self {
        let (seen, saved) = (Positions::new(), Positions::new());
        Self { options, totals, store, stop, seen, saved, untold: Gaps::new() }
    }

    /// Joins the groups, and makes those that are missing.
    pub async fn join(&mut self, source: &mut Source, hand: &mut Hand) -> Result<(), Halt> {
        self.load(source, hand).await?;
        self.look_for_groups(source).await?;
        self.tell(source, hand).await?;
        self.make_groups(source).await?;
        self.tell(source, hand).await
    }

    /// Tells what is missing, once.
    async fn tell(&mut self, source: &mut Source, hand: &mut Hand) -> Result<(), Halt> {
        hand.finisher.missing(source, std::mem::take(&mut self.untold)).await
    }

    /// Where the group was in the streams, as far as no read has shown it yet.
    async fn load(&mut self, source: &Source, hand: &mut Hand) -> Result<(), Halt> {
        for which in source.all() {
            if self.seen.contains_key(&which) {
                continue;
            }
            let (stream, group) = (source.name(which), source.group());
            let found = hand
                .writer
                .look("where the group was", async |rows| rows.position(stream, group).await);
            self.seen.extend(found.await?.flatten().map(|found| (which, found)));
        }
        Ok(())
    }

    /// Says where the group is, if that is not in the tables.
    pub async fn save(&mut self, source: &Source) {
        for (which, passed) in &self.seen {
            if self.saved.get(which) == Some(passed) {
                continue;
            }
            match self.store.save_position(source.name(*which), source.group(), passed).await {
                Ok(()) => _ = self.saved.insert(*which, *passed),
                Err(fault) => debug!("no position is recorded: {}", sanitize(&fault.text())),
            }
        }
    }

    /// Sees what is missing in streams whose group has to be made again. To be told before that:
    /// once it is made, nobody else knows that it was not.
    async fn look_for_groups(&mut self, source: &mut Source) -> RedisResult<()> {
        for which in source.all() {
            if source.ours(which).await?.is_none() {
                let stream = source.stream(which).await?.unwrap_or_default();
                self.begin(source, which, &stream).await?;
            }
        }
        Ok(())
    }

    /// The group begins in this stream: what it will not read of the one that was there before.
    async fn begin(
        &mut self,
        source: &mut Source,
        which: Which,
        stream: &StreamInfo,
    ) -> RedisResult<()> {
        if let Some(before) = self.seen.get(&which).copied() {
            let left = match before.at == EntryId::default() {
                true => Some(stream.length),
                false => counted(source, which, before.at, stream.last).await?,
            };
            // The id that an entry would have now, or a greater one.
            let now = EntryId { ms: time_ms(source).await?.unsigned_abs() + 1_000, seq: 0 };
            let gap = made_again(&before, stream, left, now);
            self.untold.extend(gap.map(|gap| (which, gap)));
        }
        self.seen.insert(which, begun(stream));
        Ok(())
    }

    /// Creates missing streams and groups. A new group begins with the first entry. Sees what went
    /// since the last look.
    async fn make_groups(&mut self, source: &mut Source) -> RedisResult<()> {
        for which in source.all() {
            let begins = source.stream(which).await?.and_then(|stream| begun(&stream).number);
            let mut create = cmd("XGROUP");
            create.arg("CREATE").arg(source.name(which)).arg(source.group()).arg("0");
            create.arg("MKSTREAM").arg("ENTRIESREAD").arg(begins.unwrap_or_default());
            let look = source.info("STREAM", which);
            let replies = match source.transact(&[&create, &look]).await {
                Ok(replies) => replies.unwrap_or_default(),
                Err(error) if error.code() == Some("BUSYGROUP") => continue,
                Err(error) => return Err(error),
            };
            let stream = reply::stream_info(replies.last().ok_or_else(unanswered)?)?;
            self.begin(source, which, &stream).await?;
            // The stream may have been trimmed, deleted or made in between.
            self.correct(source, which).await?;
        }
        Ok(())
    }

    /// Tells the server how many entries the group has passed, if that is known and nobody has read
    /// since. Redis 7.0 doesn't count those that were trimmed before they were read.
    async fn correct(&self, source: &mut Source, which: Which) -> RedisResult<()> {
        let passed = self.seen.get(&which).and_then(|passed| Some((passed.at, passed.number?)));
        let Some((at, number)) = passed else { return Ok(()) };
        let name = source.name(which).to_owned();
        source.ask(cmd("WATCH").arg(&name)).await?;
        let is_wrong = source
            .ours(which)
            .await?
            .is_some_and(|group| group.last_delivered == at && group.read != Some(number));
        if !is_wrong {
            return source.ask(&cmd("UNWATCH")).await.map(|_| ());
        }
        let mut set = cmd("XGROUP");
        set.arg("SETID").arg(name).arg(source.group()).arg(at.to_string());
        set.arg("ENTRIESREAD").arg(number);
        source.transact(&[&set]).await.map(|_| ())
    }

    /// Handles entries that are pending for this consumer but unknown to it: those of an earlier
    /// worker of this name, or delivered when a connection broke.
    pub async fn recover(&mut self, source: &mut Source, hand: &mut Hand) -> Result<(), Halt> {
        for which in source.all() {
            let mut after = EntryId::default();
            loop {
                let mut ids = source.own(which, after).await?;
                let Some(last) = ids.last().copied() else { break };
                after = last;
                ids.retain(|id| !hand.finisher.aside().knows((which, *id)));
                self.claim(source, hand, which, &ids).await?;
            }
        }
        Ok(())
    }

    /// Tries entries that are due. True if there were any.
    pub async fn retry(&mut self, source: &mut Source, hand: &mut Hand) -> Result<bool, Halt> {
        let due = hand.finisher.take_due();
        let has_any = !due.is_empty();
        for (which, ids) in due {
            self.claim(source, hand, which, &ids).await?;
        }
        Ok(has_any)
    }

    async fn claim(
        &mut self,
        source: &mut Source,
        hand: &mut Hand,
        which: Which,
        ids: &[EntryId],
    ) -> Result<(), Halt> {
        for ids in ids.chunks((self.options.batch as usize).min(PIECE)) {
            let claimed = source.claim(which, ids).await?;
            hand.take(source, which, claimed).await?;
        }
        Ok(())
    }

    /// Reads new entries, and sees what is missing before them. Orders are not read while somebody
    /// must look first.
    pub async fn read(&mut self, source: &mut Source, hand: &Hand) -> RedisResult<Read> {
        let is_stuck = hand.finisher.aside().has_unchanged();
        let is_open = self.options.on_no_row != OnNoRow::Stop || !is_stuck;
        self.totals.intake(source.name(Which::Orders), is_open);
        let mut of = source.all();
        of.retain(|which| is_open || *which != Which::Orders);
        let (mut entries, count) = (Vec::new(), hand.finisher.count());
        for delivery in source.read(&of, count).await? {
            let Delivery { which, stream, group, pending, .. } = delivery;
            let ids: Vec<_> = delivery.entries.iter().map(|entry| entry.id).collect();
            let before = self.seen.get(&which);
            let since = match before.filter(|before| must_count(before, &stream, &group)) {
                Some(before) => counted(source, which, before.at, stream.last).await?,
                None => None,
            };
            let (look, more) = ((&stream, &group), (pending, since));
            let (now, gap) = passed(before, look, more, &ids, u64::from(count));
            self.seen.insert(which, now);
            self.untold.extend(gap.map(|gap| (which, gap)));
            entries.extend(delivery.entries.into_iter().map(|entry| (which, entry)));
        }
        Ok(Read { of, entries })
    }

    /// Handles what was read. True if that was anything; otherwise it has waited for some, unless
    /// the worker ends when there is none.
    pub async fn handle(
        &mut self,
        source: &mut Source,
        hand: &mut Hand,
        Read { of, entries }: Read,
    ) -> Result<bool, Halt> {
        if self.saved.is_empty() {
            self.save(source).await;
        }
        let has_any = !entries.is_empty();
        let of_gaps: Vec<_> = self.untold.iter().map(|(which, _)| *which).collect();
        self.tell(source, hand).await?;
        if has_any {
            entries.into_iter().for_each(|(which, entry)| hand.add(which, entry));
            hand.finish(source).await?;
        }
        for which in of_gaps {
            self.correct(source, which).await?;
        }
        if !has_any && !self.options.once {
            let due = hand.finisher.aside().next_due();
            let until_due = due.map(|due| due.saturating_duration_since(Instant::now()));
            let wait = until_due.map_or(BLOCK, |wait| wait.min(BLOCK));
            self.wait(source, &of, wait).await?;
        }
        Ok(has_any)
    }

    /// Takes over entries that other workers have left. True if there were any.
    ///
    /// These may be entries of a live worker that can't reach the database. An entry that two
    /// workers write still becomes one row.
    pub async fn steal(&mut self, source: &mut Source, hand: &mut Hand) -> Result<bool, Halt> {
        let mut has_stolen = false;
        let idle = self.options.claim_after;
        for which in source.all() {
            let mut next = Some(EntryId::default());
            while let Some(start) = next {
                let (mut claimed, more) =
                    source.steal(which, idle, start, self.options.batch).await?;
                next = more;
                // Entries that are aside here have their own time of retry.
                let aside = hand.finisher.aside();
                claimed.entries.retain(|entry| !aside.knows((which, entry.id)));
                if !claimed.entries.is_empty() {
                    has_stolen = true;
                    let (count, name) = (claimed.entries.len(), source.name(which));
                    debug!("took over {count} entries of {name}");
                }
                hand.take(source, which, claimed).await?;
                if *self.stop.borrow() {
                    return Ok(has_stolen);
                }
            }
            remove_idle(source, which, (idle * IDLE_TIMES).max(IDLE_MIN)).await?;
        }
        Ok(has_stolen)
    }

    /// Waits until one of these streams has another entry than those that were seen: reading it is
    /// another step, which also sees what is missing.
    async fn wait(&self, source: &mut Source, of: &[Which], wait: Duration) -> RedisResult<()> {
        let names: Vec<_> = of.iter().map(|which| source.name(*which)).collect();
        let last =
            |which| self.seen.get(which).map_or_else(|| "$".to_owned(), |it| it.last.to_string());
        let mut read = cmd("XREAD");
        read.arg("COUNT").arg(1).arg("BLOCK").arg(millis(wait).max(1)).arg("STREAMS").arg(names);
        source.ask(read.arg(of.iter().map(last).collect::<Vec<_>>())).await.map(|_| ())
    }
}

/// How many entries are after one, up to another. None if they are too many to be counted.
async fn counted(
    source: &mut Source,
    which: Which,
    last: EntryId,
    until: EntryId,
) -> RedisResult<Option<u64>> {
    let count = source.unread(which, last, Some(until)).await?;
    Ok(Some(count).filter(|count| *count < UNREAD_MAX))
}

/// Removes consumers that have nothing pending and were inactive for `idle`.
pub async fn remove_idle(source: &mut Source, which: Which, idle: Duration) -> RedisResult<()> {
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
    let replies = source.transact(&[&pending, &leave]).await?.unwrap_or_default();
    let its = replies.first().map(reply::pending).transpose()?.unwrap_or_default();
    let ids: Vec<_> = its.iter().map(|pending| pending.id).collect();
    for ids in ids.chunks(PIECE) {
        let mut again = source.claiming(which, consumer, ids);
        source.ask(again.arg("FORCE").arg("JUSTID")).await?;
    }
    Ok(())
}
