//! Handles delivered entries: they are committed and acknowledged, or put aside and tried again.
//!
//! An order that can't be written stays pending: only a person gives up a sold order. An entry that
//! no command appends becomes a dead letter, and nothing is released for it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use seckill_tools::sanitize::sanitize;
use seckill_tools::server_errors::{Trouble, told, trouble};
use tracing::{debug, error, info, warn};

use crate::aside::Put;
use crate::batch::{Outcome, Sole, Why};
use crate::book::Asker;
use crate::halt::Halt;
use crate::order_events::{Event, Kind, OrderKey, Unfit};
use crate::source::{Delivered, Source};
use crate::stream_consumer::StreamConsumer;
use crate::stream_entry::{StreamEntry, Which};
use crate::totals::Count;

/// How often `--once` tries an entry before it ends.
const ONCE_TRIES: u64 = 3;
/// So many entries are read while the database refuses all that are read.
const REFUSED_BATCH: u32 = 8;

/// An entry that can't be written now.
struct Bad {
    place: (Which, EntryId),
    order: Option<(OrderKey, String)>,
    is_held: bool,
    why: Why,
}

/// Entries, sorted by whether they could be parsed.
#[derive(Default)]
struct Parsed {
    events: Vec<Event>,
    /// Entries that no command appends.
    malformed: Vec<(Which, StreamEntry, String)>,
    bad: Vec<Bad>,
    /// Confirmations and releases whose order can't have a row.
    rowless: Vec<(Which, EntryId)>,
}

impl StreamConsumer {
    /// Commits and acknowledges entries. After an error, those that are not acknowledged stay
    /// pending.
    pub(crate) async fn handle(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<(), Halt> {
        let Parsed { events, malformed, mut bad, rowless } = self.parse(delivered);
        for (which, id) in rowless {
            source.acknowledge(which, &[id]).await?;
            let count = if which == Which::Released { Count::Released } else { Count::Confirmed };
            self.totals.add(count, 1);
        }
        let events = self.with_limits(source, events).await?;
        let replicas = self.options.replicas;
        let mut asker = Asker { source: &mut *source, are_entries: true, replicas };
        let done = self.committer.commit(&mut asker, events).await?;
        self.settle(source, &done).await?;
        self.bury(source, malformed).await?;
        bad.extend(done.into_iter().filter_map(|(event, outcome)| match outcome {
            Outcome::Failed(why) => Some(Bad {
                place: (event.which(), event.id),
                is_held: matches!(event.kind, Kind::Order { deadline_ms: Some(_) }),
                order: Some((event.key, event.user)),
                why,
            }),
            _ => None,
        }));
        self.put_aside(source, bad).await
    }

    fn parse(&mut self, delivered: Delivered) -> Parsed {
        let (mut parsed, now, retry) = (Parsed::default(), Instant::now(), self.options.retry);
        let its =
            |(which, its): (Which, Vec<StreamEntry>)| its.into_iter().map(move |one| (which, one));
        for (which, entry) in delivered.into_iter().flat_map(its) {
            let bad = |why: String| Bad {
                place: (which, entry.id),
                order: None,
                is_held: false,
                why: Why::Unfit(why),
            };
            match Event::parse(which, &entry, &self.fields) {
                Ok(event) => {
                    let is_order = which == Which::Orders;
                    let voucher = &event.key.voucher;
                    if !is_order || !self.aside.joins(event.id, voucher, now, retry) {
                        parsed.events.push(event);
                    }
                }
                // No row can have such an id.
                Err(Unfit::Unstorable(_)) if which != Which::Orders => {
                    parsed.rowless.push((which, entry.id));
                }
                Err(Unfit::Unstorable(why) | Unfit::Foreign(why)) => parsed.bad.push(bad(why)),
                Err(Unfit::Garbled(why)) => parsed.malformed.push((which, entry, why)),
            }
        }
        parsed
    }

    /// The events, with the limits of vouchers without a book: a book's limits are kept by it.
    async fn with_limits(
        &mut self,
        source: &mut Source,
        events: Vec<Event>,
    ) -> Result<Vec<(Event, Sole)>, Halt> {
        let is_counted = |event: &&Event| event.which() == Which::Orders && !event.key.is_managed();
        let vouchers = events.iter().filter(is_counted).map(|event| &*event.key.voucher);
        self.limits.ask(source, vouchers.collect::<BTreeSet<_>>()).await?;
        let with = |event: Event| {
            let sole = match is_counted(&&event) {
                true => self.limits.of(&event.key.voucher),
                false => Sole::No,
            };
            (event, sole)
        };
        Ok(events.into_iter().map(with).collect())
    }

    /// Acknowledges what is committed, and wakes what may have waited for it.
    async fn settle(&mut self, source: &mut Source, done: &[(Event, Outcome)]) -> Result<(), Halt> {
        let is_written = |outcome: &Outcome| !matches!(outcome, Outcome::Failed(_) | Outcome::Gone);
        let written =
            || done.iter().filter(|(_, outcome)| is_written(outcome)).map(|(event, _)| event);
        for which in source.all() {
            let its = written().filter(|event| event.which() == which);
            source.acknowledge(which, &its.map(|event| event.id).collect::<Vec<_>>()).await?;
        }
        for (event, outcome) in done {
            if !matches!(outcome, Outcome::Failed(_)) {
                self.aside.forget((event.which(), event.id));
            }
        }
        let now = Instant::now();
        for event in written().filter(|event| event.which() == Which::Orders) {
            if self.aside.unstick(&event.key.voucher) {
                let voucher = sanitize(&event.key.voucher);
                info!("orders of voucher {voucher} are written again");
            }
        }
        let vouchers: BTreeSet<&str> = written().map(|event| &*event.key.voucher).collect();
        self.aside.wake(&vouchers, now);
        if !vouchers.is_empty() {
            self.last_written = Some(now);
        }
        // While all that is read is refused, little is read at a time, but it is read: the next
        // order may be a good one.
        self.count = if vouchers.is_empty() && !done.is_empty() {
            REFUSED_BATCH.min(self.options.batch)
        } else {
            self.options.batch
        };
        Ok(())
    }

    /// Puts entries aside; one line of the log per batch says why.
    async fn put_aside(&mut self, source: &mut Source, bad: Vec<Bad>) -> Result<(), Halt> {
        let (mut firsts, mut first) = (0, None);
        for one in bad {
            let Some(put) = self.put_one(source, &one).await? else { continue };
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
                let is_ids = matches!(&one.why, Why::Unfit(_)) && one.order.is_none();
                first.get_or_insert((format!("entry {id} of {name}"), reason, is_ids));
            }
        }
        if let Some((entry, reason, is_unfit)) = first {
            let (more, stays) = match firsts {
                1 => (String::new(), "stays"),
                all => (format!(" and {} more", all - 1), "stay"),
            };
            let text = format!("{entry}{more} can't be written and {stays} pending: {reason}");
            if is_unfit && !reason.contains("--order-fields") {
                info!("{text}");
            } else {
                warn!("{text}");
            }
        }
        Ok(())
    }

    /// None if the order was rejected instead.
    async fn put_one(&mut self, source: &mut Source, bad: &Bad) -> Result<Option<Put>, Halt> {
        let now = Instant::now();
        // It is tried again before another worker takes it over.
        let waits = (self.options.retry, self.options.claim_after / 2);
        let voucher = bad.order.as_ref().map(|(key, _)| &*key.voucher);
        let put = self.aside.put(bad.place, voucher, &bad.why, now, waits);
        if self.options.once && put.times >= ONCE_TRIES {
            self.aside.leave(bad.place);
        }
        // The entry is at fault only if the database has accepted others since.
        let is_hopeless = |after| {
            put.is_refused && now - put.since >= after && self.last_written >= Some(put.since)
        };
        if bad.is_held
            && self.options.reject_after.is_some_and(is_hopeless)
            && source.reject_unsold(bad.place.1, &bad.why.text()).await?
        {
            let (id, name) = (bad.place.1, source.name(bad.place.0));
            warn!("held order {id} of {name} is rejected: {}", sanitize(&bad.why.text()));
            self.left(bad.place);
            return Ok(None);
        }
        Ok(Some(put))
    }

    /// Makes malformed entries dead letters. Nothing is released, since no try has written them.
    async fn bury(
        &mut self,
        source: &mut Source,
        malformed: Vec<(Which, StreamEntry, String)>,
    ) -> Result<(), Halt> {
        let mut unburied = Vec::new();
        for (which, entry, reason) in malformed {
            let (id, name) = (entry.id, source.name(which).to_owned());
            match source.bury(which, &entry, &reason).await {
                Ok(true) => {
                    warn!(
                        "entry {id} of {name} is malformed and was moved to the dead letters: \
                           {reason}"
                    );
                    self.left((which, id));
                }
                Ok(false) => self.aside.forget((which, id)),
                // The entry stays pending and blocks no other.
                Err(error) if trouble(&error) == Trouble::Wrong || error.code().is_none() => {
                    let told = format!("{reason}; no dead letter can be made: {}", told(&error));
                    let (place, why) = ((which, id), Why::Refused(told));
                    unburied.push(Bad { place, order: None, is_held: false, why });
                }
                Err(error) => return Err(error.into()),
            }
        }
        self.put_aside(source, unburied).await
    }

    /// An entry has become a dead letter.
    fn left(&mut self, place: (Which, EntryId)) {
        self.aside.forget(place);
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
            for ids in ids.chunks(self.options.batch as usize) {
                self.totals.add(Count::Retries, ids.len());
                let own = source.own_among(which, &ids.iter().copied().collect()).await?;
                for id in ids.iter().filter(|id| !own.contains(id)) {
                    // It is written, given up, or another worker has it.
                    self.aside.forget((which, *id));
                }
                let own: Vec<_> = own.into_iter().collect();
                if own.is_empty() {
                    continue;
                }
                let entries = source.claim(which, Duration::ZERO, &own).await?;
                self.handle(source, Delivered::from([(which, entries)])).await?;
            }
        }
        Ok(has_any)
    }
}
