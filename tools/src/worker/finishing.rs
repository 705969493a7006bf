//! Ends entries: those that are written are acknowledged, others become dead letters, are over, or
//! are lost. What can't be written is put aside and tried again.
//!
//! An order that can't be written stays pending: only a person gives up a sold order. An entry that
//! no command appends becomes a dead letter, and nothing is released for it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use redis::{RedisResult, cmd};
use seckill_tools::duration::millis;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{debug, error, info, warn};

use crate::aside::{Aside, Bad, Tried};
use crate::batch::{Outcome, Why};
use crate::book;
use crate::ending::{Cause, End, Lost, Place};
use crate::halt::Halt;
use crate::intake::Gaps;
use crate::intake::gap::Gap;
use crate::letters;
use crate::options::Options;
use crate::order_events::{Event, RawOrder, StreamEntry, Which};
use crate::source::{Source, reply};
use crate::store::Store;
use crate::stream_consumer::Shared;
use crate::tend::time_ms;
use crate::totals::{Count, Totals};
use crate::writing::Writer;

/// How often `--once` tries an entry before it ends.
const ONCE_TRIES: u64 = 3;
/// So many entries are read while the database refuses all that are read.
const REFUSED_BATCH: u32 = 8;

/// What the finisher has in hand outlives connections.
pub struct Finisher {
    options: Arc<Options>,
    totals: Arc<Totals>,
    store: Arc<Store>,
    /// Entries that no command appends.
    malformed: VecDeque<(Which, StreamEntry, String)>,
    bad: VecDeque<Bad>,
    /// Confirmations and releases whose order can't have a row.
    rowless: Vec<(Place, RawOrder)>,
    aside: Aside,
    /// What is lost, and not recorded yet.
    lost: Vec<Lost>,
    /// All that was tried last was refused.
    is_refusing: bool,
}

impl Finisher {
    pub fn new((options, totals, store): Shared) -> Self {
        Self {
            options,
            totals,
            store,
            malformed: VecDeque::new(),
            bad: VecDeque::new(),
            rowless: Vec::new(),
            aside: Aside::default(),
            lost: Vec::new(),
            is_refusing: false,
        }
    }

    /// The entries that could not be written.
    pub fn aside(&self) -> &Aside {
        &self.aside
    }

    /// Puts an order aside without a try, if another order of its voucher is stuck.
    pub fn joins(&mut self, event: &Event) -> bool {
        self.aside.joins(event, Instant::now(), self.options.retry)
    }

    /// The entries that are to be tried again now.
    pub fn take_due(&mut self) -> BTreeMap<Which, Vec<EntryId>> {
        let due = self.aside.take_due(Instant::now(), self.options.retry);
        self.totals.add(Count::Retries, due.values().map(Vec::len).sum());
        due
    }

    /// Another worker has an entry that is aside here.
    pub fn forget(&mut self, place: Place) {
        self.aside.forget(place);
    }

    /// How many entries are to be read at a time. While all that is read is refused, little is read
    /// at a time, but it is read: the next order may be a good one.
    pub fn count(&self) -> u32 {
        if self.is_refusing { REFUSED_BATCH.min(self.options.batch) } else { self.options.batch }
    }

    /// Takes an entry in hand that no command appends.
    pub fn add_malformed(&mut self, which: Which, entry: StreamEntry, why: String) {
        self.malformed.push_back((which, entry, why));
    }

    /// Takes an entry in hand that can't be a row, with the order that it is about, if that can be
    /// read.
    pub fn add_unfit(&mut self, place: Place, raw: Option<RawOrder>, why: String) {
        match raw {
            Some(raw) if place.0 != Which::Orders => self.rowless.push((place, raw)),
            raw => self.bad.push_back(Bad { place, event: None, raw, why: Why::Unfit(why) }),
        }
    }

    /// Ends what was written and what can't be. After an error, what is not ended stays in hand.
    pub async fn finish(&mut self, source: &mut Source, writer: &mut Writer) -> Result<(), Halt> {
        self.acknowledge(source, writer).await?;
        self.bury(source).await?;
        self.release(source).await?;
        self.put_aside(source, writer).await
    }

    /// The entries leave the worker's hands: there is no other place where they do.
    pub async fn ended(&mut self, source: &mut Source, ended: &[(Place, End)]) -> Result<(), Halt> {
        for which in source.all() {
            let is_its = |(place, end): &&(Place, End)| {
                place.0 == which && matches!(end, End::Row | End::Over)
            };
            let ids: Vec<_> = ended.iter().filter(is_its).map(|((_, id), _)| *id).collect();
            source.acknowledge(which, &ids).await?;
        }
        for (place, end) in ended {
            match end {
                End::Row => {}
                End::DeadLetter => debug!("entry {} is a dead letter", place.1),
                End::Over => self.totals.add(Count::Over, 1),
                End::Lost(cause) => self.lose(source.name(place.0), *place, *cause),
            }
            self.aside.forget(*place);
        }
        self.save_lost().await;
        Ok(())
    }

    /// Entries that nobody can read any more: a person is told, now and for `check`.
    fn lose(&mut self, stream: &str, (_, id): Place, cause: Cause) {
        let lost = Lost::new(stream, &self.options.site.group, id, cause);
        warn!("something was lost and has no row: {}", sanitize(&lost.text()));
        let entries = cause.entries().unwrap_or(1);
        self.totals.add(Count::Lost, usize::try_from(entries).unwrap_or(usize::MAX));
        self.lost.push(lost);
    }

    /// Writes what is lost into the table that `check` looks at.
    pub async fn save_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        match self.store.lose(&self.lost).await {
            Ok(()) => self.lost.clear(),
            Err(fault) => debug!("lost entries are not recorded yet: {}", sanitize(&fault.text())),
        }
    }

    /// Acknowledges what is committed, and wakes what may have waited for it.
    async fn acknowledge(&mut self, source: &mut Source, writer: &mut Writer) -> Result<(), Halt> {
        let end = |(event, outcome): &(Event, Outcome)| match outcome {
            Outcome::Failed(_) => None,
            Outcome::Gone => Some((event.place_of_entry(), End::DeadLetter)),
            _ => Some((event.place_of_entry(), End::Row)),
        };
        let ended: Vec<_> = writer.done().iter().filter_map(end).collect();
        self.ended(source, &ended).await?;
        let done = writer.take_done();
        let is_written = |outcome: &Outcome| !matches!(outcome, Outcome::Failed(_) | Outcome::Gone);
        let written =
            || done.iter().filter(|(_, outcome)| is_written(outcome)).map(|(event, _)| event);
        let now = Instant::now();
        for event in written().filter(|event| event.is_order()) {
            if self.aside.unstick(&event.key.voucher) {
                let voucher = sanitize(&event.key.voucher);
                info!("orders of voucher {voucher} are written again");
            }
        }
        let vouchers: BTreeSet<&str> = written().map(|event| &*event.key.voucher).collect();
        self.aside.wake(&vouchers, now);
        self.is_refusing = vouchers.is_empty() && !done.is_empty();
        self.bad.extend(done.into_iter().filter_map(|(event, outcome)| match outcome {
            Outcome::Failed(why) => {
                Some(Bad { place: event.place_of_entry(), event: Some(event), raw: None, why })
            }
            _ => None,
        }));
        Ok(())
    }

    /// Confirmations and releases that concern no row. An order that no row can have ends with its
    /// release.
    async fn release(&mut self, source: &mut Source) -> Result<(), Halt> {
        if self.rowless.is_empty() {
            return Ok(());
        }
        let rowless = &self.rowless;
        let mut ended: Vec<_> = rowless.iter().map(|(place, _)| (*place, End::Over)).collect();
        let released = rowless.iter().filter(|((which, _), _)| *which == Which::Released);
        let released: BTreeSet<&RawOrder> = released.map(|(_, raw)| raw).collect();
        let is_ended = |bad: &&Bad| bad.raw.as_ref().is_some_and(|raw| released.contains(raw));
        ended.extend(self.bad.iter().filter(is_ended).map(|bad| (bad.place, End::Over)));
        ended.extend(self.aside.ended(&released).into_iter().map(|place| (place, End::Over)));
        self.ended(source, &ended).await?;
        for ((which, _), _) in self.rowless.drain(..) {
            let count = if which == Which::Released { Count::Released } else { Count::Confirmed };
            self.totals.add(count, 1);
        }
        let ended: BTreeSet<Place> = ended.into_iter().map(|(place, _)| place).collect();
        self.bad.retain(|bad| !ended.contains(&bad.place));
        Ok(())
    }

    /// Puts entries aside, but for orders that are released: these need no row. One line of the
    /// log per batch says why.
    async fn put_aside(&mut self, source: &mut Source, writer: &Writer) -> Result<(), Halt> {
        let raws: BTreeSet<_> = self.bad.iter().filter_map(|bad| bad.raw.as_ref()).collect();
        let over = book::released(source, &raws).await?;
        let is_over = |bad: &&Bad| bad.raw.as_ref().is_some_and(|raw| over.contains(raw));
        let ended: Vec<_> =
            self.bad.iter().filter(is_over).map(|bad| (bad.place, End::Over)).collect();
        self.ended(source, &ended).await?;
        self.bad.retain(|bad| !is_over(&bad));
        let (mut firsts, mut first) = (0, None);
        while let Some(one) = self.bad.front().cloned() {
            let put = self.put_one(source, writer, &one).await?;
            self.bad.pop_front();
            let Some(put) = put else { continue };
            let (which, id) = one.place;
            let name = source.name(which);
            let reason = sanitize(&one.why.text());
            // A release that is not read yet may resolve these two at once.
            let is_told = match one.why {
                Why::Unchanged(_) | Why::HasOther(_) => put.times == 2,
                _ => put.times == 1,
            };
            debug!("entry {id} of {name} is aside, tried {} times: {reason}", put.times);
            if is_told && let Why::Unchanged(_) = one.why {
                error!("entry {id} of {name} can't be written and stays pending: {reason}{}", {
                    match which {
                        Which::Orders => "; orders of this voucher wait with it, others go on",
                        _ => "",
                    }
                });
            } else if is_told {
                firsts += 1;
                first.get_or_insert((format!("entry {id} of {name}"), reason));
            }
        }
        if let Some((entry, reason)) = first {
            let (more, stays) = match firsts {
                1 => (String::new(), "stays"),
                all => (format!(" and {} more", all - 1), "stay"),
            };
            warn!("{entry}{more} can't be written and {stays} pending: {reason}");
        }
        Ok(())
    }

    /// None if the order was rejected instead, or is left to be taken over later.
    async fn put_one(
        &mut self,
        source: &mut Source,
        writer: &Writer,
        bad: &Bad,
    ) -> Result<Option<Tried>, Halt> {
        let now = Instant::now();
        // It is tried again before another worker takes it over.
        let waits = (self.options.retry, self.options.claim_after / 2);
        let was_crowded = self.aside.is_crowded(bad.voucher());
        let Some(put) = self.aside.put(bad, now, waits) else {
            if !was_crowded {
                let voucher = sanitize(&String::from_utf8_lossy(bad.voucher()));
                warn!(
                    "too many entries of voucher {voucher} can't be written: the others stay \
                     pending, and are tried again each --claim-after"
                );
            }
            return Ok(None);
        };
        if self.options.once && put.times >= ONCE_TRIES {
            self.aside.leave(bad.place);
        }
        // The order is at fault only if the database has accepted others since the try before.
        let has_others = writer.has_held_since(put.before);
        let is_hopeless = |after| put.is_refused && now - put.since >= after && has_others;
        if bad.is_held()
            && self.options.reject_after.is_some_and(is_hopeless)
            && letters::reject_unsold(source, bad.place.1, &bad.why.text()).await?
        {
            let (id, name) = (bad.place.1, source.name(bad.place.0));
            warn!("held order {id} of {name} is rejected: {}", sanitize(&bad.why.text()));
            self.rejected(bad.place);
            self.ended(source, &[(bad.place, End::DeadLetter)]).await?;
            return Ok(None);
        }
        Ok(Some(put))
    }

    /// Makes malformed entries dead letters. Nothing is released, since no try has written them.
    async fn bury(&mut self, source: &mut Source) -> Result<(), Halt> {
        while let Some((which, entry, reason)) = self.malformed.front() {
            let (place, name) = ((*which, entry.id), source.name(*which).to_owned());
            match letters::bury_in_hand(source, *which, entry, reason).await {
                Ok(is_ours) => {
                    if is_ours {
                        warn!(
                            "entry {} of {name} is malformed and was moved to the dead letters: \
                             {reason}",
                            place.1
                        );
                        self.rejected(place);
                    }
                    self.ended(source, &[(place, End::DeadLetter)]).await?;
                }
                // The entry stays pending and blocks no other.
                Err(error) if trouble(&error) == Trouble::Wrong || error.code().is_none() => {
                    let told = format!("{reason}; no dead letter can be made: {}", told(&error));
                    let why = Why::Refused(told);
                    self.bad.push_back(Bad { place, event: None, raw: None, why });
                }
                Err(error) => return Err(error.into()),
            }
            self.malformed.pop_front();
        }
        Ok(())
    }

    /// This worker has made an entry a dead letter.
    fn rejected(&mut self, place: Place) {
        self.totals.add(Count::Rejected, 1);
        if place.0 == Which::Orders {
            self.totals.add(Count::Orders, 1);
        }
    }

    /// Entries are missing that nobody has read.
    pub async fn missing(&mut self, source: &mut Source, gaps: Gaps) -> Result<(), Halt> {
        let lost = |(which, gap): (Which, Gap)| ((which, gap.after), End::Lost(Cause::Gap(gap)));
        self.ended(source, &gaps.into_iter().map(lost).collect::<Vec<_>>()).await
    }

    /// Trims a stream by what every group has acknowledged, and by age. What groups have
    /// acknowledged stays so, and an id begins with its entry's time: nothing that happens
    /// meanwhile makes an older entry needed.
    pub async fn trim(
        &self,
        source: &mut Source,
        which: Which,
        after: Duration,
    ) -> RedisResult<()> {
        let Some(needed) = needed_from(source, which).await? else { return Ok(()) };
        let now_ms = time_ms(source).await?.unsigned_abs();
        let old = EntryId { ms: now_ms.saturating_sub(millis(after)).saturating_add(1), seq: 0 };
        let mut trim = cmd("XTRIM");
        trim.arg(source.name(which)).arg("MINID").arg("=").arg(needed.min(old).to_string());
        let trimmed: usize = trim.query_async(source.connection()).await?;
        self.totals.add(Count::Trimmed, trimmed);
        Ok(())
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
            let pending = source.pending(which, &group.name);
            let first = reply::summary(&source.ask(&pending).await?)?.first;
            needed = first.map_or(needed, |first| needed.min(first));
        }
        first = Some(first.map_or(needed, |first| first.min(needed)));
    }
    Ok(first)
}
