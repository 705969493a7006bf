//! What is done with entries that were delivered: committed and acknowledged, tried again, or
//! given up.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use domain::order_events::{Order, Reason, Release, StreamEntry, Unfit};
use tracing::{info, warn};

use crate::batch::{Event, Outcome, Sole, Why};
use crate::link::{Trouble, told, trouble};
use crate::retry::{Pending, back_off};
use crate::shown::shown;
use crate::source::{Delivered, Source, Which};
use crate::stream_consumer::{Halt, StreamConsumer};
use crate::totals::Count;

/// An entry whose data was refused.
struct Refused {
    which: Which,
    entry: StreamEntry,
    reason: String,
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
        let names = self.options.order_fields.names();
        let Delivered { orders, released } = &delivered;
        let (mut refused, mut rowless) = (Vec::new(), Vec::new());
        let (mut fit, mut releases) = (Vec::new(), Vec::new());
        for entry in orders {
            self.retries.forget(Which::Orders, entry.id);
            match Order::parse(entry, names) {
                Ok(order) => fit.push(order),
                Err(unfit) => refused.push((Which::Orders, entry, unfit)),
            }
        }
        for entry in released {
            self.retries.forget(Which::Released, entry.id);
            match Release::parse(entry, names) {
                Ok(release) => releases.push(Event::Release(release)),
                // There can be no row of it.
                Err(Unfit::Unstorable(_)) => rowless.push(entry.id),
                Err(unfit) => refused.push((Which::Released, entry, unfit)),
            }
        }
        source.acknowledge(Which::Released, &rowless).await?;
        self.totals.add(Count::Released, rowless.len());
        let orders_events = self.events(source, fit).await?;
        let done = self.committer.commit([releases, orders_events].concat()).await?;
        self.acknowledge(source, &done).await?;
        for (which, entry, unfit) in refused {
            self.give_up(source, which, entry, unfit.why()).await?;
        }

        let mut conflicts = Vec::new();
        for (event, outcome) in done {
            let Outcome::Failed(why) = outcome else { continue };
            match (event, why) {
                (Event::Order(order, _), Why::HasOther(_)) => conflicts.push(order),
                (event, why) => {
                    let (which, id) = place(&event);
                    let entries = if which == Which::Orders { orders } else { released };
                    let Some(entry) = entries.iter().find(|entry| entry.id == id) else { continue };
                    let (entry, reason) = (entry.clone(), reason(&why));
                    self.refuse(source, Refused { which, entry, reason }).await?;
                }
            }
        }
        Ok(conflicts)
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
        for which in [Which::Orders, Which::Released] {
            let settled = done.iter().filter(|(_, outcome)| !matches!(outcome, Outcome::Failed(_)));
            let places = settled.map(|(event, _)| place(event));
            let ids: Vec<_> = places.filter(|(of, _)| *of == which).map(|(_, id)| id).collect();
            source.acknowledge(which, &ids).await?;
        }
        Ok(())
    }

    /// Leaves an entry pending for another try or, when it has had enough of them, gives it up.
    async fn refuse(&mut self, source: &mut Source, refused: Refused) -> Result<(), Halt> {
        let Refused { which, entry, reason } = refused;
        let Some(deliveries) = source.deliveries(which, entry.id).await? else { return Ok(()) };
        if deliveries >= self.options.deliveries_max {
            return self.give_up(source, which, &entry, &reason).await;
        }
        let wait = back_off(Duration::from_millis(self.options.retry_ms), deliveries);
        info!(
            "entry {} of {} is refused, delivery {deliveries}, again in {} ms: {}",
            entry.id,
            source.name(which),
            wait.as_millis(),
            shown(&reason)
        );
        self.retries.add(which, entry.id, Instant::now() + wait, Pending::Refused);
        Ok(())
    }

    /// Makes an entry a dead letter.
    async fn give_up(
        &mut self,
        source: &mut Source,
        which: Which,
        entry: &StreamEntry,
        reason: &str,
    ) -> Result<(), Halt> {
        let given_up = match which {
            Which::Orders => source.reject(entry.id, reason).await,
            Which::Released => source.bury(entry, reason).await,
        };
        let (id, name) = (entry.id, source.name(which));
        match given_up {
            Ok(true) => {
                warn!("entry {id} of {name} is given up: {}", shown(reason));
                self.totals.add(Count::Rejected, 1);
                if which == Which::Orders {
                    self.totals.add(Count::Orders, 1);
                }
                Ok(())
            }
            Ok(false) => Ok(()),
            // It stays pending, and in nobody's way.
            Err(error) if trouble(&error) == Trouble::Wrong && !self.options.once => {
                let told = told(&error);
                warn!("entry {id} of {name} can't be given up: {}", shown(&told));
                let wait =
                    Duration::from_millis(self.options.retry_ms).max(Duration::from_secs(60));
                self.retries.add(which, id, Instant::now() + wait, Pending::Refused);
                Ok(())
            }
            Err(error) => Err(error.into()),
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
        let entry = StreamEntry { id: order.id, fields: Vec::new() };
        self.refuse(source, Refused { which: Which::Orders, entry, reason: reason(why) }).await
    }
}

/// The entry that an event is from.
fn place(event: &Event) -> (Which, EntryId) {
    match event {
        Event::Order(order, _) => (Which::Orders, order.id),
        Event::Release(release) => (Which::Released, release.id),
    }
}

/// What a dead letter says.
fn reason(why: &Why) -> String {
    match why {
        Why::OtherUser => "the order id is that of another user's order".to_owned(),
        Why::HasOther(other) => format!("the user has another order of this voucher: {other}"),
        Why::Refused(text) => format!("the database refuses it: {text}"),
    }
}
