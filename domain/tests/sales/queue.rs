//! The queue of orders that wait: what is seen of it, and what every step must keep.

use crate::actions::{Action, Run};
use crate::flat::Flat;
use crate::properties::{Checked, Step, ensure};
use crate::world::{Error, NOW, ORDERS, View, World};
use domain::book::State;
use domain::facts::{First, Needed, Queue};
use domain::plan::{Order, Place, Plan};
use domain::rules::Window;
use domain::sale::TryOutcome;
use domain::waitlist::{self, Next};

/// How many orders may wait.
pub const QUEUE_MAX: u64 = 2;

impl World {
    /// Is this key missing?
    pub fn lacks(&self, part: Needed) -> bool {
        match part {
            Needed::Rules => self.rules.is_none(),
            Needed::Stock => self.stock.is_none(),
            Needed::Buyers => !self.buyers.contains(&true),
            Needed::Book => self.book.iter().all(Option::is_none),
            Needed::Units => self.units.iter().all(Option::is_none),
            Needed::Extra => self.extra == 0,
            Needed::Holds => self.holds.iter().all(Option::is_none),
            Needed::Queue => self.first_in_queue().is_none(),
            Needed::Payments => self.payments.iter().all(Option::is_none),
        }
    }

    /// Order ids in the queue, the first in front.
    pub fn in_queue(&self) -> Vec<u8> {
        let queue = self.queue.iter().zip(0_u8..);
        let mut queue: Vec<_> = queue.filter_map(|(ticket, id)| Some(((*ticket)?, id))).collect();
        queue.sort_unstable();
        queue.into_iter().map(|(_, id)| id).collect()
    }

    pub fn first_in_queue(&self) -> Option<u8> {
        let queue = self.queue.iter().zip(0_u8..);
        queue.filter_map(|(ticket, id)| Some(((*ticket)?, id))).min().map(|(_, id)| id)
    }

    /// Tickets matter by their order only.
    pub fn renumber(&mut self) {
        for (ticket, id) in (1..).zip(self.in_queue()) {
            self.queue[usize::from(id)] = Some(ticket);
        }
    }

    pub fn waiting_units(&self, user: u8) -> i64 {
        let waiting = self.book.iter().flatten().filter(|it| it.state == State::Waiting);
        waiting.filter(|entry| entry.user == user).map(|entry| entry.units.get()).sum()
    }

    pub fn check_queue(&self) -> Checked {
        for (entry, ticket) in self.book.iter().zip(self.queue) {
            let waits = entry.is_some_and(|entry| entry.state == State::Waiting);
            ensure(waits == ticket.is_some(), "the queue and the orders that wait differ")?;
        }
        Ok(())
    }

    pub fn is_over(&self) -> bool {
        self.rules.is_some_and(|rules| rules.window(NOW) == Window::Ended)
    }

    /// Are there units for the first in the queue?
    fn idles(&self) -> bool {
        let first = self.first_in_queue().and_then(|id| self.entry(id));
        let is_open = self.rules.is_some_and(|rules| rules.window(NOW) == Window::Open);
        let left = self.for_sale();
        is_open && first.is_some_and(|first| first.units.get() <= left)
    }
}

impl View<'_> {
    pub fn see_queue(&self) -> Queue {
        let waiting = self.world.in_queue();
        let last = waiting.last().and_then(|id| self.world.queue[usize::from(*id)]);
        let last = last.map_or(0, i64::from);
        Queue { waiting: waiting.len() as u64, most: QUEUE_MAX, last }
    }

    pub fn see_first(&self) -> Option<First<u8>> {
        let id = self.world.first_in_queue()?;
        let entry = self.world.entry(id);
        let order = entry.map(|entry| (entry, self.world.units[usize::from(entry.user)]));
        Some(First { id, order })
    }
}

impl Run<'_> {
    /// What follows a plan that may have moved the queue, as far as this command goes on with it.
    pub fn promote(&mut self) {
        loop {
            let decided = self.ask(|facts| waitlist::promote(facts, waitlist::next(facts)?));
            self.written.has_failed |= decided.is_err();
            let Ok(Some(plan)) = decided else { return };
            if self.promotes == 0 {
                self.written.is_tired = true;
                return;
            }
            self.promotes -= 1;
            self.write(plan);
        }
    }

    /// Records waits that the sale has ended, before its end is changed.
    pub fn end_wait(&mut self) -> Result<(), Error> {
        let next = self.ask(|facts| waitlist::next(facts))?;
        let is_over = matches!(next, Next::End(_));
        if let Some(plan) = self.ask(|facts| waitlist::promote(facts, next))?.filter(|_| is_over) {
            self.write(plan);
        }
        Ok(())
    }

    fn write(&mut self, plan: Plan<u8>) {
        if self.apply(plan.into()).is_err() {
            self.bad = Some("a plan that asks for the buyer");
        }
    }
}

/// Is a place in the queue left or taken as it is, and by the order that it is of?
pub fn place_is_sound(world: &World, plan: &Flat) -> Checked {
    let id = usize::from(plan.order.id);
    let state = plan.entry.map(|entry| entry.state);
    let last = world.queue.iter().flatten().max().copied().unwrap_or(0);
    let is_right = match plan.place {
        None => state != Some(State::Waiting),
        Some(Place::Join(ticket)) => {
            let is_last = ticket == i64::from(last) + 1;
            world.queue[id].is_none() && is_last && state == Some(State::Waiting)
        }
        Some(Place::Leave) => world.queue[id].is_some() && state != Some(State::Waiting),
    };
    ensure(is_right, "a place in the queue that is another")
}

impl Step<'_> {
    /// First come, first served: nobody overtakes, and no unit lies idle.
    pub fn check_queue(&self) -> Checked {
        let waited = |id: usize| {
            let ticket = self.before.queue[id].filter(|_| self.after.rules.is_some());
            ticket.map(|ticket| (ticket, self.after.queue[id].is_some()))
        };
        for (ticket, waits) in (0..ORDERS).filter_map(waited).filter(|(_, waits)| *waits) {
            debug_assert!(waits);
            for id in 0..ORDERS {
                let has_units = self.after.book[id].is_some_and(|entry| entry.state.is_live());
                let had_units = self.before.book[id].is_some_and(|entry| entry.state.is_live());
                let was_behind = self.before.queue[id].is_none_or(|other| other > ticket);
                ensure(!has_units || had_units || !was_behind, "a waiter is overtaken")?;
            }
        }
        // What another client writes is seen by the next command, or by the timer.
        let is_foreign = matches!(self.action, Action::Overwrite(_));
        let goes_on = self.before.idles() || self.written.is_tired || is_foreign;
        ensure(goes_on || !self.after.idles(), "a unit is idle in front of whom it fits")
    }

    /// An order that joined the queue, for want of units.
    pub fn check_joined(&self, order: &Order<u8>) -> Checked {
        let id = usize::from(order.id);
        let (left, others) = (self.after.for_sale(), self.after.in_queue().len() - 1);
        ensure(matches!(self.action, Action::Wait(_)), "nobody wanted to wait")?;
        ensure(self.after.queue[id].is_some(), "waiting, but not in the queue")?;
        ensure(left < order.units.get() || others > 0, "an order waits although units are there")?;
        ensure(others < QUEUE_MAX as usize, "the queue is too long")
    }

    /// An order that could wait, and does not: there is no place for it.
    pub fn check_no_place(&self, order: &Order<u8>, outcome: TryOutcome) -> Checked {
        let wants_to_wait =
            matches!(self.action, Action::Wait(_)) && outcome == TryOutcome::SoldOut;
        let total = self.after.rules.map_or(0, |rules| rules.total);
        let is_full = self.after.in_queue().len() as u64 >= QUEUE_MAX;
        ensure(
            !wants_to_wait || is_full || order.units.get() > total,
            "there was a place in the queue",
        )
    }
}
