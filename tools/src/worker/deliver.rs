//! What is done with entries that were delivered: committed and acknowledged, or tried again.
//!
//! An order that can't be written stays pending: only a person gives up what was sold. Malformed
//! entries become dead letters, and nothing is released for them.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use domain::order_events::{Order, Reason, Release, StreamEntry, Unfit};
use tracing::{debug, error, info, warn};

use crate::batch::{Event, Outcome, Sole, Why};
use crate::link::{Trouble, told, trouble};
use crate::retry::{Pending, back_off};
use crate::settings;
use crate::shown::shown;
use crate::source::{BOTH, Delivered, Source, Which};
use crate::stream_consumer::{Halt, StreamConsumer};
use crate::totals::Count;

/// `--once` tries what is refused so often, and ends.
const ONCE_TRIES: u64 = 3;

/// What entries say, as far as it can be read.
#[derive(Default)]
struct Parsed {
    events: Vec<Event>,
    orders: Vec<Order>,
    /// Nothing that a command appends.
    malformed: Vec<(Which, StreamEntry, String)>,
    /// Orders with an id that no database can keep.
    unstorable: Vec<(EntryId, String)>,
    /// Entries of which there can be no row.
    rowless: Vec<EntryId>,
}

impl StreamConsumer {
    /// Commits what was delivered. On an error what is not acknowledged stays pending.
    pub(crate) async fn handle(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<(), Halt> {
        let conflicts = self.settle(source, delivered).await?;
        if conflicts.is_empty() {
            return Ok(());
        }
        // Their users have other live orders, as far as the rows tell. Those may have been given
        // back: read on there, then look again.
        let last = source.last_id(Which::Released).await?;
        loop {
            let entries = source.read_released(self.options.batch).await?;
            if entries.is_empty() {
                break;
            }
            self.settle(source, Delivered::of(Which::Released, entries)).await?;
        }
        for order in conflicts {
            self.limits.forget(&order.key.voucher);
            let (id, pending) = (order.id, Pending::Waits(order, last));
            self.retries.add(Which::Orders, id, Instant::now(), pending);
        }
        Ok(())
    }

    /// Commits, acknowledges, and returns the orders whose users have others.
    async fn settle(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<Vec<Order>, Halt> {
        let Parsed { mut events, orders, malformed, unstorable, rowless } = self.parse(delivered);
        source.acknowledge(Which::Released, &rowless).await?;
        self.totals.add(Count::Released, rowless.len());
        events.extend(self.events(source, orders).await?);
        let done = self.committer.commit(events).await?;
        self.acknowledge(source, &done).await?;
        self.note_refusals(&done);
        self.bury(source, malformed).await?;
        for (id, reason) in unstorable {
            self.refuse(source, Which::Orders, id, None, &reason).await?;
        }
        let mut conflicts = Vec::new();
        for (event, outcome) in done {
            let Outcome::Failed(why) = outcome else { continue };
            match (event, why) {
                (Event::Order(order, _), Why::HasOther(_)) => conflicts.push(order),
                (event, why) => self.refuse_event(source, &event, &why).await?,
            }
        }
        Ok(conflicts)
    }

    fn parse(&mut self, delivered: Delivered) -> Parsed {
        let names = self.options.order_fields.names();
        let mut parsed = Parsed::default();
        for entry in delivered.orders {
            self.retries.forget(Which::Orders, entry.id);
            match Order::parse(&entry, names) {
                Ok(order) => parsed.orders.push(order),
                Err(Unfit::Unstorable(why)) => parsed.unstorable.push((entry.id, why)),
                Err(Unfit::Garbled(why)) => parsed.malformed.push((Which::Orders, entry, why)),
            }
        }
        for entry in delivered.released {
            self.retries.forget(Which::Released, entry.id);
            match Release::parse(&entry, names) {
                Ok(release) => parsed.events.push(Event::Release(release)),
                // There can be no row of it.
                Err(Unfit::Unstorable(_)) => parsed.rowless.push(entry.id),
                Err(Unfit::Garbled(why)) => parsed.malformed.push((Which::Released, entry, why)),
            }
        }
        parsed
    }

    /// The events of orders, by the limits of their vouchers.
    async fn events(
        &mut self,
        source: &mut Source,
        orders: Vec<Order>,
    ) -> Result<Vec<Event>, Halt> {
        let vouchers: BTreeSet<_> = orders.iter().map(|order| order.key.voucher.as_str()).collect();
        self.limits.ask(source, vouchers).await?;
        let event = |order: Order| {
            let sole = self.limits.of(&order.key.voucher);
            Event::Order(order, sole)
        };
        Ok(orders.into_iter().map(event).collect())
    }

    /// Acknowledges what is committed.
    async fn acknowledge(
        &mut self,
        source: &mut Source,
        done: &[(Event, Outcome)],
    ) -> Result<(), Halt> {
        for which in BOTH {
            let settled = done.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Failed(_)));
            let places = settled.map(|(event, _)| place(event));
            let ids: Vec<_> = places.filter(|(of, _)| *of == which).map(|(_, id)| id).collect();
            source.acknowledge(which, &ids).await?;
            ids.iter().for_each(|id| self.refusals.forget(which, *id));
        }
        Ok(())
    }

    /// Opens the circuit breaker when the database takes nothing, and closes it when it does.
    fn note_refusals(&mut self, done: &[(Event, Outcome)]) {
        let stream = &self.streams.orders;
        if done.iter().any(|(_, outcome)| !matches!(outcome, Outcome::Failed(_))) {
            self.last_written = Some(Instant::now());
            if self.breaker.written() {
                info!("the database takes orders again: {stream} is read on");
            }
        } else {
            for (event, outcome) in done {
                let Outcome::Failed(Why::Refused(reason)) = outcome else { continue };
                let (which, id) = place(event);
                if self.breaker.refused(which, id) {
                    error!(
                        "the database refuses everything, so {stream} is not read on; nothing is \
                         released, and what was read stays pending: {}",
                        shown(reason)
                    );
                }
            }
        }
        self.totals.intake(stream, !self.breaker.is_open());
    }

    /// Leaves an entry pending for another try, later and later.
    async fn refuse(
        &mut self,
        source: &mut Source,
        which: Which,
        id: EntryId,
        order: Option<&Order>,
        reason: &str,
    ) -> Result<(), Halt> {
        let now = Instant::now();
        let refusal = self.refusals.add(which, id, now);
        let is_hopeless = |after| {
            // Only while the database takes others is it this one.
            now - refusal.since >= after && self.last_written >= Some(refusal.since)
        };
        if let Some(order) = order.filter(|order| order.deadline_ms.is_some())
            && self.options.reject_after.is_some_and(is_hopeless)
            && source.reject_unsold(id, &order.key, &order.user, reason).await?
        {
            warn!("held order {id} of {} is rejected: {}", source.name(which), shown(reason));
            self.left(which, id);
            return Ok(());
        }
        let name = source.name(which);
        let refused = format!("entry {id} of {name} can't be written and stays pending");
        if refusal.times == 1 {
            warn!("{refused}: {}", shown(reason));
        } else {
            debug!("{refused}, tried {} times: {}", refusal.times, shown(reason));
        }
        if self.options.once && refusal.times >= ONCE_TRIES {
            return Ok(());
        }
        let first = Duration::from_millis(self.options.retry_ms);
        // Sooner than another worker takes it for left.
        let wait = back_off(first, refusal.times).min((self.options.claim_after() / 2).max(first));
        self.retries.add(which, id, now + wait, Pending::Refused);
        Ok(())
    }

    async fn refuse_event(
        &mut self,
        source: &mut Source,
        event: &Event,
        why: &Why,
    ) -> Result<(), Halt> {
        let (which, id) = place(event);
        let order = match event {
            Event::Order(order, _) => Some(order),
            Event::Release(_) => None,
        };
        self.refuse(source, which, id, order, &reason(why)).await
    }

    /// Makes malformed entries dead letters. Nothing is released: no try has written them. Unless
    /// it is this worker that reads them wrongly.
    async fn bury(
        &mut self,
        source: &mut Source,
        malformed: Vec<(Which, StreamEntry, String)>,
    ) -> Result<(), Halt> {
        if !malformed.is_empty() {
            settings::compare(source.connection(), &self.options).await??;
        }
        for (which, entry, reason) in malformed {
            let (id, name) = (entry.id, source.name(which).to_owned());
            match source.bury(which, &entry, &reason).await {
                Ok(true) => {
                    warn!("entry {id} of {name} is malformed, a dead letter now: {reason}");
                    self.left(which, id);
                }
                Ok(false) => {}
                // It stays pending, and in nobody's way.
                Err(error) if trouble(&error) == Trouble::Wrong => {
                    let told = format!("{reason}; no dead letter can be made: {}", told(&error));
                    self.refuse(source, which, id, None, &told).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// An entry has become a dead letter.
    fn left(&mut self, which: Which, id: EntryId) {
        self.refusals.forget(which, id);
        self.totals.add(Count::Rejected, 1);
        if which == Which::Orders {
            self.totals.add(Count::Orders, 1);
        }
    }

    /// Tries again what is due. True if anything was.
    pub(crate) async fn retry(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let due = self.retries.take_due(Instant::now());
        if due.is_empty() {
            return Ok(false);
        }
        let mut waiting = Vec::new();
        let mut refused: [(Which, Vec<EntryId>); 2] =
            [(Which::Orders, Vec::new()), (Which::Released, Vec::new())];
        for (which, id, pending) in due {
            match pending {
                Pending::Waits(order, until) => waiting.push((order, until)),
                Pending::Refused => {
                    let ids = refused.iter_mut().find(|(of, _)| *of == which);
                    ids.into_iter().for_each(|(_, ids)| ids.push(id));
                }
            }
        }
        // Another worker may have taken it in the meantime, and waits in turn.
        let idle = Duration::from_millis(self.options.retry_ms / 2);
        for (which, ids) in refused {
            for ids in ids.chunks(self.options.batch as usize) {
                self.totals.add(Count::Retries, ids.len());
                let entries = source.claim(which, idle, ids).await?;
                let claimed = |id: &EntryId| entries.iter().any(|entry| entry.id == *id);
                for id in ids.iter().filter(|id| !claimed(id)) {
                    self.refusals.forget(which, *id);
                }
                self.handle(source, Delivered::of(which, entries)).await?;
            }
        }
        self.retry_waiting(source, waiting).await?;
        Ok(true)
    }

    /// Tries orders again whose users had others.
    async fn retry_waiting(
        &mut self,
        source: &mut Source,
        waiting: Vec<(Order, EntryId)>,
    ) -> Result<(), Halt> {
        let ids: Vec<_> = waiting.iter().map(|(order, _)| order.id).collect();
        if ids.is_empty() {
            return Ok(());
        }
        let kept = source.keep(Which::Orders, Duration::ZERO, &ids).await?;
        for (order, until) in waiting {
            if !kept.contains(&order.id) {
                continue;
            }
            // Asked before the rows are: what is settled then is in them.
            let is_settled = source.is_settled(Which::Released, until).await?;
            let events = self.events(source, vec![order.clone()]).await?;
            let done = self.committer.commit(events).await?;
            self.acknowledge(source, &done).await?;
            for (_, outcome) in done {
                let Outcome::Failed(why) = outcome else { continue };
                match why {
                    Why::HasOther(_) if is_settled => self.judge(source, &order, &why).await?,
                    Why::HasOther(_) => {
                        let due = Instant::now() + Duration::from_millis(self.options.retry_ms);
                        let pending = Pending::Waits(order.clone(), until);
                        self.retries.add(Which::Orders, order.id, due, pending);
                    }
                    _ => self.refuse_order(source, &order, &why).await?,
                }
            }
        }
        Ok(())
    }

    /// All give-backs are in the rows, and the user still has another live order. The book of a
    /// managed voucher knows whether this one is right: then the limit was higher when it was
    /// accepted, or an entry of a give-back was lost.
    async fn judge(&mut self, source: &mut Source, order: &Order, why: &Why) -> Result<(), Halt> {
        let known = source.order(&order.key).await?.filter(|known| known.user == order.user);
        let Some(known) = known else { return self.refuse_order(source, order, why).await };
        let mut events = vec![Event::Order(order.clone(), Sole::No)];
        if let Some(reason) = Reason::parse(known.state.as_bytes()) {
            let Order { id, key, user, units, .. } = order.clone();
            events.push(Event::Release(Release { id, key, user, units, reason }));
        }
        let done = self.committer.commit(events).await?;
        let of_order = |(event, _): &&(Event, Outcome)| matches!(event, Event::Order(..));
        let done: Vec<_> = done.iter().filter(of_order).cloned().collect();
        self.acknowledge(source, &done).await?;
        for (_, outcome) in done {
            if let Outcome::Failed(why) = outcome {
                self.refuse_order(source, order, &why).await?;
            }
        }
        Ok(())
    }

    async fn refuse_order(
        &mut self,
        source: &mut Source,
        order: &Order,
        why: &Why,
    ) -> Result<(), Halt> {
        self.refuse(source, Which::Orders, order.id, Some(order), &reason(why)).await
    }
}

/// The entry that an event is from.
fn place(event: &Event) -> (Which, EntryId) {
    match event {
        Event::Order(order, _) => (Which::Orders, order.id),
        Event::Release(release) => (Which::Released, release.id),
    }
}

/// Why an entry is no row.
fn reason(why: &Why) -> String {
    match why {
        Why::OtherUser => "the order id is that of another user's order".to_owned(),
        Why::HasOther(other) => format!("the user has another order of this voucher: {other}"),
        Why::Refused(text) => format!("the database refuses it: {text}"),
    }
}
