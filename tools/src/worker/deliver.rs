//! Handles delivered entries: they are committed and acknowledged, or tried again.
//!
//! An order that can't be written stays pending: only an operator gives up a sold order. Malformed
//! entries become dead letters, and nothing is released for them.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::order_events::{Confirmation, Order, Release, StreamEntry, Unfit};
use domain::book::Reason;
use domain::entry_id::EntryId;

use crate::batch::{Event, Outcome, Sole, Why};
use crate::retry::Pending;
use crate::source::{Delivered, Source, Which};
use crate::stream_consumer::{Halt, StreamConsumer};
use crate::totals::Count;

/// Entries, sorted by whether they could be parsed.
#[derive(Default)]
struct Parsed {
    events: Vec<Event>,
    orders: Vec<Order>,
    /// Entries that no command appends.
    malformed: Vec<(Which, StreamEntry, String)>,
    /// Orders with an id that no database can store.
    unstorable: Vec<(EntryId, String)>,
    /// Confirmations and releases whose order can't have a row.
    rowless: Vec<(Which, EntryId)>,
}

impl StreamConsumer {
    /// Commits delivered entries. After an error, those that are not acknowledged stay pending.
    pub(crate) async fn handle(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<(), Halt> {
        let conflicts = self.commit_and_acknowledge(source, delivered).await?;
        if conflicts.is_empty() {
            return Ok(());
        }
        // By the rows, their users have other live orders, or a statement of the shop changed no
        // row. A release may resolve both: read all releases, then try again.
        let last = source.last_id(Which::Released).await?;
        loop {
            let released = source.read(&[Which::Released], self.options.batch, None).await?;
            if released.is_empty() {
                break;
            }
            self.commit_and_acknowledge(source, released).await?;
        }
        for order in conflicts {
            self.limits.forget(&order.key.voucher);
            let (id, pending) = (order.id, Pending::Waits(order, last));
            self.retries.add(Which::Orders, id, Instant::now(), pending);
        }
        Ok(())
    }

    /// Commits, acknowledges, and returns the orders that may succeed after a release is read.
    async fn commit_and_acknowledge(
        &mut self,
        source: &mut Source,
        delivered: Delivered,
    ) -> Result<Vec<Order>, Halt> {
        let Parsed { mut events, orders, malformed, unstorable, rowless } = self.parse(delivered);
        for (which, id) in rowless {
            source.acknowledge(which, &[id]).await?;
            let count = if which == Which::Released { Count::Released } else { Count::Confirmed };
            self.totals.add(count, 1);
        }
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
                // A release that was not read yet may resolve it.
                (Event::Order(order, _), Why::HasOther(_) | Why::Unchanged(_)) => {
                    conflicts.push(order);
                }
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
        let confirmed = delivered.confirmed.into_iter().map(|entry| (Which::Confirmed, entry));
        let released = delivered.released.into_iter().map(|entry| (Which::Released, entry));
        for (which, entry) in confirmed.chain(released) {
            self.retries.forget(which, entry.id);
            let event = match which {
                Which::Confirmed => Confirmation::parse(&entry, names).map(Event::Confirmation),
                _ => Release::parse(&entry, names).map(Event::Release),
            };
            match event {
                Ok(event) => parsed.events.push(event),
                // No row can have such an id.
                Err(Unfit::Unstorable(_)) => parsed.rowless.push((which, entry.id)),
                Err(Unfit::Garbled(why)) => parsed.malformed.push((which, entry, why)),
            }
        }
        parsed
    }

    /// The events of orders, with the limits of their vouchers.
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

    /// Acknowledges the committed entries.
    async fn acknowledge(
        &mut self,
        source: &mut Source,
        done: &[(Event, Outcome)],
    ) -> Result<(), Halt> {
        for which in source.all() {
            let settled = done.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Failed(_)));
            let places = settled.map(|(event, _)| place(event));
            let ids: Vec<_> = places.filter(|(of, _)| *of == which).map(|(_, id)| id).collect();
            source.acknowledge(which, &ids).await?;
            ids.iter().for_each(|id| self.forget(which, *id));
        }
        Ok(())
    }

    /// Retries the entries that are due. True if there were any.
    pub(crate) async fn retry(&mut self, source: &mut Source) -> Result<bool, Halt> {
        let due = self.retries.take_due(Instant::now());
        if due.is_empty() {
            return Ok(false);
        }
        let mut waiting = Vec::new();
        let mut refused: BTreeMap<Which, Vec<EntryId>> = BTreeMap::new();
        for (which, id, pending) in due {
            match pending {
                Pending::Waits(order, until) => waiting.push((order, until)),
                Pending::Refused => refused.entry(which).or_default().push(id),
            }
        }
        // Another worker may have taken an entry over in the meantime; its own wait must not be cut
        // short.
        let idle = Duration::from_millis(self.options.retry_ms.div_ceil(2));
        for (which, ids) in refused {
            for ids in ids.chunks(self.options.batch as usize) {
                self.totals.add(Count::Retries, ids.len());
                let entries = source.claim(which, idle, ids).await?;
                let claimed = |id: &EntryId| entries.iter().any(|entry| entry.id == *id);
                for id in ids.iter().filter(|id| !claimed(id)) {
                    if source.is_own(which, *id).await? {
                        self.retries.add(which, *id, Instant::now() + idle, Pending::Refused);
                    } else {
                        self.forget(which, *id);
                    }
                }
                self.handle(source, Delivered::of(which, entries)).await?;
            }
        }
        self.retry_waiting(source, waiting).await?;
        Ok(true)
    }

    /// Retries orders that waited for releases.
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
            // Asked before the rows are read, so that they contain every release that is settled.
            let is_settled = source.is_settled(Which::Released, until).await?;
            let events = self.events(source, vec![order.clone()]).await?;
            let done = self.committer.commit(events).await?;
            self.acknowledge(source, &done).await?;
            for (_, outcome) in done {
                let Outcome::Failed(why) = outcome else { continue };
                match why {
                    Why::HasOther(_) if is_settled => self.judge(source, &order, &why).await?,
                    Why::HasOther(_) | Why::Unchanged(_) if !is_settled => {
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

    /// Called when all releases are in the rows and the order still conflicts. If the book of a
    /// managed voucher has the order, it is right: the limit was higher when it was accepted, or an
    /// entry of a release was lost.
    async fn judge(&mut self, source: &mut Source, order: &Order, why: &Why) -> Result<(), Halt> {
        let known = source.order(&order.key).await?.filter(|known| known.user == order.user);
        let Some(known) = known else { return self.refuse_order(source, order, why).await };
        let mut events = vec![Event::Order(order.clone(), Sole::No)];
        if let Some(reason) = Reason::parse(known.state.as_bytes()) {
            let Order { id, key, user, units, .. } = order.clone();
            let was_sold = false;
            events.push(Event::Release(Release { id, key, user, units, reason, was_sold }));
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
}

/// The stream and the id of an event's entry.
pub fn place(event: &Event) -> (Which, EntryId) {
    match event {
        Event::Order(order, _) => (Which::Orders, order.id),
        Event::Confirmation(confirmation) => (Which::Confirmed, confirmation.id),
        Event::Release(release) => (Which::Released, release.id),
    }
}
