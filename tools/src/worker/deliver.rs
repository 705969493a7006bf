//! Handles delivered entries: they are committed and acknowledged, or put aside and tried again.
//!
//! An order that can't be written stays pending: only a person gives up a sold order. An entry that
//! no command appends becomes a dead letter, and nothing is released for it.

use std::collections::BTreeSet;
use std::time::Instant;

use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{debug, error, info, warn};

use crate::aside::Tried;
use crate::batch::{Outcome, Sole, Why};
use crate::book::{self, Asker};
use crate::ending::{Cause, End, Lost, Place};
use crate::halt::Halt;
use crate::hand::{Bad, Piece, RawOrder};
use crate::order_events::{Event, Unfit};
use crate::source::{Delivered, Source};
use crate::stream_consumer::StreamConsumer;
use crate::stream_entry::{StreamEntry, Which};
use crate::totals::Count;

/// How often `--once` tries an entry before it ends.
const ONCE_TRIES: u64 = 3;
/// So many entries are read while the database refuses all that are read.
const REFUSED_BATCH: u32 = 8;
/// Entries that are delivered again in one step.
const PIECE: usize = 1_000;

impl StreamConsumer {
    /// Takes entries in hand, and finishes all that is there. After an error, what is not finished
    /// stays in hand.
    pub(crate) async fn handle(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<(), Halt> {
        let its =
            |(which, its): (Which, Vec<StreamEntry>)| its.into_iter().map(move |one| (which, one));
        for (which, entry) in delivered.into_iter().flat_map(its) {
            self.take(which, entry);
        }
        self.finish(source).await
    }

    fn take(&mut self, which: Which, entry: StreamEntry) {
        let (hand, retry) = (&mut self.hand, self.options.retry);
        let place = (which, entry.id);
        let (raw, why) = match Event::parse(which, &entry, &self.fields) {
            Ok(event) => {
                if !self.aside.joins(&event, Instant::now(), retry) {
                    hand.read.push(event);
                }
                return;
            }
            Err(Unfit::Garbled(why)) => return hand.malformed.push_back((which, entry, why)),
            Err(Unfit::Foreign(why)) => (None, why),
            Err(Unfit::Unstorable(why)) => (RawOrder::of(which, &entry, &self.fields), why),
        };
        match raw {
            Some(raw) if which != Which::Orders => hand.rowless.push((place, raw)),
            raw => hand.bad.push_back(Bad { place, event: None, raw, why: Why::Unfit(why) }),
        }
    }

    /// Finishes what is in hand, step by step.
    pub(crate) async fn finish(&mut self, source: &mut Source) -> Result<(), Halt> {
        self.with_limits(source).await?;
        let replicas = self.options.replicas;
        let mut asker = Asker { source: &mut *source, are_entries: true, replicas };
        self.committer.commit(&mut asker, &mut self.hand.pieces, &mut self.hand.done).await?;
        self.settle(source).await?;
        self.bury(source).await?;
        self.release(source).await?;
        self.put_aside(source).await
    }

    /// The events, with the limits of vouchers without a book: a book's limits are kept by it.
    async fn with_limits(&mut self, source: &mut Source) -> Result<(), Halt> {
        let is_counted = |event: &&Event| event.is_order() && !event.key.is_managed();
        let read = self.hand.read.iter();
        let vouchers = read.filter(is_counted).map(|event| &*event.key.voucher);
        self.limits.ask(source, vouchers.collect::<BTreeSet<_>>()).await?;
        let with = |event: Event| {
            let sole = match is_counted(&&event) {
                true => self.limits.of(&event.key.voucher),
                false => Sole::No,
            };
            (event, sole)
        };
        let events: Vec<_> = self.hand.read.drain(..).map(with).collect();
        self.hand.pieces.push(Piece { events, tries: 0 });
        Ok(())
    }

    /// The entries leave the worker's hands: there is no other place where they do.
    pub(crate) async fn ended(
        &mut self,
        source: &mut Source,
        ended: &[(Place, End)],
    ) -> Result<(), Halt> {
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
    pub(crate) async fn save_lost(&mut self) {
        if self.lost.is_empty() {
            return;
        }
        match self.committer.store().lose(&self.lost).await {
            Ok(()) => self.lost.clear(),
            Err(fault) => debug!("lost entries are not recorded yet: {}", sanitize(&fault.text())),
        }
    }

    /// Acknowledges what is committed, and wakes what may have waited for it.
    async fn settle(&mut self, source: &mut Source) -> Result<(), Halt> {
        let end = |(event, outcome): &(Event, Outcome)| match outcome {
            Outcome::Failed(_) => None,
            Outcome::Gone => Some((event.place_of_entry(), End::DeadLetter)),
            _ => Some((event.place_of_entry(), End::Row)),
        };
        let ended: Vec<_> = self.hand.done.iter().filter_map(end).collect();
        self.ended(source, &ended).await?;
        let done = std::mem::take(&mut self.hand.done);
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
        // While all that is read is refused, little is read at a time, but it is read: the next
        // order may be a good one.
        self.count = if vouchers.is_empty() && !done.is_empty() {
            REFUSED_BATCH.min(self.options.batch)
        } else {
            self.options.batch
        };
        self.hand.bad.extend(done.into_iter().filter_map(|(event, outcome)| match outcome {
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
        if self.hand.rowless.is_empty() {
            return Ok(());
        }
        let rowless = &self.hand.rowless;
        let mut ended: Vec<_> = rowless.iter().map(|(place, _)| (*place, End::Over)).collect();
        let released = rowless.iter().filter(|((which, _), _)| *which == Which::Released);
        let released: BTreeSet<&RawOrder> = released.map(|(_, raw)| raw).collect();
        let is_ended = |bad: &&Bad| bad.raw.as_ref().is_some_and(|raw| released.contains(raw));
        ended.extend(self.hand.bad.iter().filter(is_ended).map(|bad| (bad.place, End::Over)));
        ended.extend(self.aside.ended(&released).into_iter().map(|place| (place, End::Over)));
        self.ended(source, &ended).await?;
        for ((which, _), _) in self.hand.rowless.drain(..) {
            let count = if which == Which::Released { Count::Released } else { Count::Confirmed };
            self.totals.add(count, 1);
        }
        let ended: BTreeSet<Place> = ended.into_iter().map(|(place, _)| place).collect();
        self.hand.bad.retain(|bad| !ended.contains(&bad.place));
        Ok(())
    }

    /// Puts entries aside, but for orders that are released: these need no row. One line of the
    /// log per batch says why.
    async fn put_aside(&mut self, source: &mut Source) -> Result<(), Halt> {
        let raws: BTreeSet<_> = self.hand.bad.iter().filter_map(|bad| bad.raw.as_ref()).collect();
        let over = book::released(source, &raws).await?;
        let is_over = |bad: &&Bad| bad.raw.as_ref().is_some_and(|raw| over.contains(raw));
        let ended: Vec<_> =
            self.hand.bad.iter().filter(is_over).map(|bad| (bad.place, End::Over)).collect();
        self.ended(source, &ended).await?;
        self.hand.bad.retain(|bad| !is_over(&bad));
        let (mut firsts, mut first) = (0, None);
        while let Some(one) = self.hand.bad.front().cloned() {
            let put = self.put_one(source, &one).await?;
            self.hand.bad.pop_front();
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
    async fn put_one(&mut self, source: &mut Source, bad: &Bad) -> Result<Option<Tried>, Halt> {
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
        let has_others = self.committer.has_held_since(put.before);
        let is_hopeless = |after| put.is_refused && now - put.since >= after && has_others;
        if bad.is_held()
            && self.options.reject_after.is_some_and(is_hopeless)
            && source.reject_unsold(bad.place.1, &bad.why.text()).await?
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
        while let Some((which, entry, reason)) = self.hand.malformed.front() {
            let (place, name) = ((*which, entry.id), source.name(*which).to_owned());
            match source.bury_in_hand(*which, entry, reason).await {
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
                    self.hand.bad.push_back(Bad { place, event: None, raw: None, why });
                }
                Err(error) => return Err(error.into()),
            }
            self.hand.malformed.pop_front();
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

    /// Tries entries that are due. True if there were any.
    pub(crate) async fn retry(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let due = self.aside.take_due(Instant::now(), self.options.retry);
        let has_any = !due.is_empty();
        for (which, ids) in due {
            for ids in ids.chunks((self.options.batch as usize).min(PIECE)) {
                self.totals.add(Count::Retries, ids.len());
                let claimed = source.claim(which, ids).await?;
                for id in claimed.others {
                    self.not_pending(source, (which, id)).await?;
                }
                for id in claimed.deleted {
                    self.deleted(source, (which, id)).await?;
                }
                self.handle(source, Delivered::from([(which, claimed.entries)])).await?;
            }
        }
        Ok(has_any)
    }

    /// An entry that is aside is not pending for this consumer any more. What it says is written,
    /// unless a person has made it a dead letter.
    async fn not_pending(&mut self, source: &mut Source, place: Place) -> Result<(), Halt> {
        if let Some(event) = self.aside.event(place) {
            self.hand.read.push(event.clone());
            return Ok(());
        }
        let (which, id) = place;
        if source.buried(which, &BTreeSet::from([id])).await?.contains(&id) {
            self.ended(source, &[(place, End::DeadLetter)]).await
        } else if let Some(entry) = source.entry(which, id).await? {
            self.take(which, entry);
            Ok(())
        } else if source.deliveries(which, id).await?.is_some() {
            // Another worker has it.
            self.aside.forget(place);
            Ok(())
        } else {
            self.deleted(source, place).await
        }
    }

    /// An entry was deleted from the stream while it was pending. What it says is written if it is
    /// in hand.
    pub(crate) async fn deleted(&mut self, source: &mut Source, place: Place) -> Result<(), Halt> {
        if let Some(event) = self.aside.event(place) {
            self.hand.read.push(event.clone());
            return Ok(());
        }
        // A worker may have died between writing and acknowledging it.
        let has_row = self.committer.store().has_entry(place).await.unwrap_or(false);
        let end = if has_row { End::Row } else { End::Lost(Cause::Deleted) };
        self.ended(source, &[(place, end)]).await
    }
}
