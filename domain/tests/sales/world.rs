//! The keys of one voucher as tables, the facts that decisions ask of them, and plans applied to
//! them.

use crate::flat::{Flat, Hold};
use crate::plans::plan_is_sound;
use domain::book::{Entry, Has, State, UserUnits};
use domain::facts::{Due, Facts, First, FirstDue, Needed, Queue, Refusal, Stream};
use domain::payments::Payment;
use domain::plan::{Admission, Place, SalePlan};
use domain::rules::{Millis, Rules, SaleId};
use domain::sale::{Policy, Stock, Units};
use std::cell::Cell;

pub const USERS: usize = 2;
pub const ORDERS: usize = 3;
pub const REFERENCES: usize = 2;

/// The present. Time passes by bringing every moment nearer, so that there is no last one: what is
/// over lies at the present.
pub const NOW: Millis = 100;

/// Keys by users and by order ids, which are numbers from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct World {
    pub rules: Option<Rules>,
    pub stock: Option<i64>,
    pub buyers: [bool; USERS],
    pub units: [Option<UserUnits<u8>>; USERS],
    pub book: [Option<Entry<u8>>; ORDERS],
    pub holds: [Option<Millis>; ORDERS],
    /// Tickets of the orders that wait.
    pub queue: [Option<u8>; ORDERS],
    /// Units of held orders beyond the first of each.
    pub extra: i64,
    /// What the number of users on record, without orders in the queue, lacks to be that of held
    /// and sold units.
    pub beyond_one: i64,
    /// By reference.
    pub payments: [Option<Payment<u8>>; REFERENCES],
    /// Units that were taken off the sale, by order.
    pub outside: [Option<Units>; ORDERS],
    pub last: Option<SaleId>,
    /// Memory is full.
    pub is_full: bool,
    /// Another client has written the stock.
    pub is_foreign: bool,
}

impl World {
    pub const EMPTY: Self = Self {
        rules: None,
        stock: None,
        buyers: [false; USERS],
        units: [None; USERS],
        book: [None; ORDERS],
        holds: [None; ORDERS],
        queue: [None; ORDERS],
        extra: 0,
        beyond_one: 0,
        payments: [None; REFERENCES],
        outside: [None; ORDERS],
        last: None,
        is_full: false,
        is_foreign: false,
    };

    /// Nothing but what outlives a sale.
    pub fn without_sale(&self) -> Self {
        Self { payments: self.payments, last: self.last, is_full: self.is_full, ..Self::EMPTY }
    }

    pub fn entry(&self, id: u8) -> Option<Entry<u8>> {
        self.book[usize::from(id)]
    }

    pub fn sale(&self) -> Option<SaleId> {
        self.rules.map(|rules| rules.sale)
    }

    pub fn live(&self) -> impl Iterator<Item = &Entry<u8>> {
        self.book.iter().flatten().filter(|entry| entry.state.is_live())
    }

    pub fn live_units(&self, user: u8) -> i64 {
        self.live().filter(|entry| entry.user == user).map(|entry| entry.units.get()).sum()
    }

    /// A millisecond passes.
    pub fn tick(&mut self) {
        let nearer = |moment: &mut Millis| *moment = (*moment - 1).max(NOW);
        if let Some(rules) = &mut self.rules {
            rules.begin.as_mut().map(nearer);
            rules.end.as_mut().map(nearer);
        }
        self.holds.iter_mut().flatten().for_each(nearer);
        let held = self.book.iter_mut().flatten().filter(|entry| entry.state == State::Held);
        held.for_each(|entry| nearer(&mut entry.deadline));
    }

    /// Ids of the holds until `last`, by deadline.
    fn holds_until(&self, last: Millis) -> Vec<u8> {
        let held = self.holds.iter().zip(0_u8..);
        let mut held: Vec<_> = held.filter_map(|(until, id)| Some(((*until)?, id))).collect();
        held.retain(|(until, _)| *until <= last);
        held.sort_unstable();
        held.into_iter().map(|(_, id)| id).collect()
    }

    /// What no step may leave behind.
    pub fn check(&self) -> Result<(), &'static str> {
        let Some(rules) = &self.rules else { return self.check_unmanaged() };
        let live: i64 = self.live().map(|entry| entry.units.get()).sum();
        if live > rules.total {
            return Err("oversold");
        }
        if self.stock.is_some_and(|left| left < 0 || left + live != rules.total) && !self.is_foreign
        {
            return Err("total is not left, held and sold");
        }
        if self.beyond_one != live - self.counted() {
            return Err("units beyond one are not counted");
        }
        if self.last != Some(rules.sale) {
            return Err("the sale is not the last one");
        }
        for (entry, hold) in self.book.iter().zip(self.holds) {
            let held = entry.filter(|entry| entry.state == State::Held);
            if held.map(|entry| entry.deadline) != hold {
                return Err("holds and held orders differ");
            }
        }
        self.check_payments(rules.sale)?;
        let held = self.live().filter(|entry| entry.state == State::Held);
        if self.extra != held.map(|entry| entry.units.get() - 1).sum::<i64>() {
            return Err("units of held orders are not counted");
        }
        for user in 0..USERS {
            let (live, waiting) = (self.live_units(user as u8), self.waiting_units(user as u8));
            let has = self.units[user].map_or(Has::default(), |has| has.has());
            if has != (Has { units: live + waiting, waiting }) {
                return Err("a user's units are not those of the live orders");
            }
            if self.buyers[user] != (live > 0) {
                return Err("the buyers are not the users with units");
            }
        }
        self.check_queue()
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    Refused(Refusal),
    /// A question could not be answered.
    Fault,
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a decision sees of a world.
pub struct View<'w> {
    pub world: &'w World,
    /// How many questions were asked, and which of them fails.
    pub asked: &'w Cell<usize>,
    pub fails: usize,
    /// Whether buyers are known before they are added.
    pub knows_buyers: bool,
    pub policy: Policy,
}

impl View<'_> {
    fn ask<T>(&self, answer: T) -> Result<T, Error> {
        let asked = self.asked.get();
        self.asked.set(asked + 1);
        if asked == self.fails { Err(Error::Fault) } else { Ok(answer) }
    }
}

impl Facts for View<'_> {
    type Name = u8;
    type Error = Error;

    fn now(&self) -> Millis {
        NOW
    }

    fn policy(&self) -> Policy {
        self.policy
    }

    fn rules(&self) -> Result<Option<Rules>, Error> {
        self.ask(self.world.rules)
    }

    fn stock(&self) -> Result<Stock, Error> {
        self.ask(self.world.stock.map_or(Stock::Missing, Stock::Left))
    }

    fn known_buyer(&self, user: &u8) -> Result<Option<bool>, Error> {
        if self.knows_buyers { self.is_buyer(user).map(Some) } else { Ok(None) }
    }

    fn is_buyer(&self, user: &u8) -> Result<bool, Error> {
        self.ask(self.world.buyers[usize::from(*user)])
    }

    fn entry(&self, id: &u8) -> Result<Option<Entry<u8>>, Error> {
        self.ask(self.world.entry(*id))
    }

    fn is_missing(&self, part: Needed) -> Result<bool, Error> {
        self.ask(self.world.lacks(part))
    }

    fn units_of(&self, user: &u8) -> Result<Has, Error> {
        Ok(self.user_units(user)?.map_or(Has::default(), |has| has.has()))
    }

    fn user_units(&self, user: &u8) -> Result<Option<UserUnits<u8>>, Error> {
        self.ask(self.world.units[usize::from(*user)])
    }

    fn taken(&self) -> Result<i64, Error> {
        self.ask(self.world.counted() + self.world.beyond_one)
    }

    fn note_surplus(&self, _: i64) {}

    fn payment(&self, reference: &u8) -> Result<Option<Payment<u8>>, Error> {
        self.ask(self.world.payments[usize::from(*reference)])
    }

    fn last_sale(&self) -> Result<Option<SaleId>, Error> {
        self.ask(self.world.last)
    }

    fn outside(&self, order: &u8) -> Result<Option<Units>, Error> {
        self.ask(self.world.outside[usize::from(*order)])
    }

    fn keepable(&self) -> Result<(), Error> {
        self.ask(())?;
        if self.world.is_full { Err(Refusal::NoMemory.into()) } else { Ok(()) }
    }

    fn due(&self, most: usize) -> Result<Option<FirstDue<u8>>, Error> {
        let due = self.world.holds_until(NOW).into_iter().take(most);
        let due = due.map(|id| Due { id, user: self.world.entry(id).map(|entry| entry.user) });
        let due: FirstDue<u8> = due.collect();
        self.ask(Some(due).filter(|due| !due.is_empty()))
    }

    fn sees_holds(&self) -> Result<(), Error> {
        self.ask(())
    }

    fn held(&self, most: usize) -> Result<(Vec<u8>, u64), Error> {
        let mut held = self.world.holds_until(Millis::MAX);
        let count = held.len() as u64;
        held.truncate(most);
        self.ask((held, count))
    }

    fn is_waited_for(&self) -> Result<bool, Error> {
        Ok(self.queue()?.waiting > 0)
    }

    fn queue(&self) -> Result<Queue, Error> {
        self.ask(self.see_queue())
    }

    fn first_waiting(&self) -> Result<Option<First<u8>>, Error> {
        self.ask(self.see_first())
    }

    fn queue_writable(&self) -> Result<(), Error> {
        self.ask(())
    }

    fn has_own_keys(&self, with_stock: bool) -> Result<bool, Error> {
        let stock = if with_stock { None } else { self.world.stock };
        self.ask(*self.world != World { stock, ..self.world.without_sale() })
    }

    fn room(&self, _: Stream) -> Result<(), Error> {
        self.ask(())
    }

    fn writable(&self, _: bool) -> Result<(), Error> {
        self.ask(())
    }

    fn releasable(&self) -> Result<(), Error> {
        self.ask(())
    }
}

/// How often each order was appended to a stream.
pub type Counts = [u8; ORDERS];

/// What a step has written.
#[derive(Clone, Copy, Debug, Default)]
pub struct Written {
    /// Anything that is replicated.
    pub anything: bool,
    pub ordered: Counts,
    pub confirmed: Counts,
    pub released: Counts,
    /// How often each reference was appended, but by releases.
    pub paid: [u8; REFERENCES],
    /// How often the record of each reference was written.
    pub recorded: [u8; REFERENCES],
    pub letters: u8,
    /// More of the queue could be promoted, but not by this step.
    pub is_tired: bool,
    /// The queue could not be asked, or promoted.
    pub has_failed: bool,
}

/// Not written: the user is among the buyers already.
#[derive(Debug, PartialEq, Eq)]
pub struct HasBought;

impl World {
    /// Writes a plan. Notes in `bad` what is wrong with it.
    pub fn apply(
        &mut self,
        plan: &Flat,
        written: &mut Written,
        bad: &mut Option<&'static str>,
    ) -> Result<(), HasBought> {
        // What is no order has no user.
        let user = usize::from(plan.order.user).min(USERS - 1);
        if plan.admit == Some(Admission::Ask) && self.buyers[user] {
            return Err(HasBought);
        }
        let before = *self;
        self.buyers[user] |= plan.admit.is_some();
        self.buyers[user] &= !plan.dismiss;
        let id = usize::from(plan.order.id);
        if let Some(stock) = plan.stock {
            self.stock = Some(stock.after);
        }
        self.rules = plan.rules.or(self.rules);
        self.book[id] = plan.entry.or(self.book[id]);
        if let Some(units) = plan.units {
            self.units[user] = units;
        }
        match plan.hold {
            Some(Hold::Place(until) | Hold::Move(until)) => self.holds[id] = Some(until),
            Some(Hold::Lift) => self.holds[id] = None,
            None => {}
        }
        match plan.place {
            Some(Place::Join(ticket)) => self.queue[id] = Some(ticket as u8),
            Some(Place::Leave) => self.queue[id] = None,
            None => {}
        }
        self.extra += plan.extra;
        self.beyond_one += plan.beyond_one;
        if let Some((reference, payment)) = plan.payment {
            self.payments[usize::from(reference)] = Some(payment);
            written.recorded[usize::from(reference)] += 1;
        }
        written.ordered[id] += u8::from(plan.taken.is_some());
        for append in plan.appends.iter().flatten() {
            written.count(*append, plan, id);
        }
        written.anything = true;
        let checked = plan_is_sound(&before, plan).and_then(|()| self.check());
        *bad = bad.or(checked.err());
        Ok(())
    }

    /// Writes a plan about the sale as a whole.
    pub fn apply_sale(&mut self, plan: &SalePlan<u8>, written: &mut Written) {
        written.anything |= *plan != SalePlan::NONE;
        if plan.delete.is_some() {
            *self = self.without_sale();
        }
        self.rules = plan.rules.or(self.rules);
        self.last = plan.last.or(self.last);
        if let Some((order, units)) = plan.outside {
            self.outside[usize::from(order)] = units;
        }
        self.stock = plan.stock.map(|stock| stock.after).or(plan.new_stock).or(self.stock);
    }
}
