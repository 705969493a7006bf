//! Facts with plans that are not applied yet: tries of one command are decided one after the other,
//! as if each were written before the next one is decided.

use crate::book::{Entry, Has, UserUnits};
use crate::facts::{Facts, First, FirstDue, Needed, Queue, Stream};
use crate::payments::Payment;
use crate::plan::Take;
use crate::rules::{Millis, Rules, SaleId};
use crate::sale::{Policy, Stock, Units};
use foldhash::fast::RandomState;
use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::hash::Hash;

/// The maximum of tries per command.
pub const TRIES_MAX: usize = 1024;

/// A short table of one command, with keys that clients choose: its hashes are seeded, but chosen
/// for speed.
type Table<N, T> = HashMap<N, T, RandomState>;

/// The facts, and accepted tries on top of them. Other plans are to be applied at once, with
/// [`Overlay::take`] before and a new overlay after.
pub struct Overlay<'f, F: Facts> {
    base: &'f F,
    takes: Vec<Take<F::Name>>,
    /// Order id to accepted try.
    orders: Table<F::Name, usize>,
    users: Table<F::Name, Has>,
    /// The most tries there can be, to allocate memory for all at once.
    tries: usize,
    taken: i64,
    /// Before these tries.
    taken_before: Cell<Option<i64>>,
    stock: Cell<Option<Stock>>,
    is_waited_for: Cell<Option<bool>>,
    due: OnceCell<Option<FirstDue<F::Name>>>,
}

impl<'f, F: Facts<Name: Hash>> Overlay<'f, F> {
    /// For at most this many tries.
    pub fn new(base: &'f F, tries: usize) -> Self {
        Self {
            base,
            takes: Vec::new(),
            orders: Table::default(),
            users: Table::default(),
            tries,
            taken: 0,
            taken_before: Cell::new(None),
            stock: Cell::new(None),
            is_waited_for: Cell::new(None),
            due: OnceCell::new(),
        }
    }

    /// Adds an accepted try.
    pub fn push(&mut self, take: Take<F::Name>) {
        if self.takes.is_empty() {
            self.takes.reserve(self.tries);
            self.users.reserve(self.tries);
            if take.booked.is_some() {
                self.orders.reserve(self.tries);
            }
        }
        if let Some(stock) = take.stock {
            let units = stock.before.saturating_sub(stock.after);
            self.taken = self.taken.saturating_add(units);
        }
        let has = take.booked.as_ref().map(|booked| booked.has.has());
        let has = has.unwrap_or(Has { units: 1, waiting: 0 });
        self.users.insert(take.order.user.clone(), has);
        if take.booked.is_some() {
            self.orders.insert(take.order.id.clone(), self.takes.len());
        }
        self.takes.push(take);
    }

    pub fn is_empty(&self) -> bool {
        self.takes.is_empty()
    }

    /// Takes all tries, to be applied, and forgets everything.
    pub fn take(&mut self) -> Vec<Take<F::Name>> {
        let takes = std::mem::take(&mut self.takes);
        *self = Self::new(self.base, self.tries);
        takes
    }
}

impl<F: Facts<Name: Hash>> Facts for Overlay<'_, F> {
    type Name = F::Name;
    type Error = F::Error;

    fn now(&self) -> Millis {
        self.base.now()
    }

    fn policy(&self) -> Policy {
        self.base.policy()
    }

    fn rules(&self) -> Result<Option<Rules>, F::Error> {
        self.base.rules()
    }

    fn stock(&self) -> Result<Stock, F::Error> {
        let stock = match self.stock.get() {
            Some(stock) => stock,
            None => {
                let stock = self.base.stock()?;
                self.stock.set(Some(stock));
                stock
            }
        };
        Ok(match stock {
            Stock::Left(left) => Stock::Left(left.saturating_sub(self.taken)),
            Stock::Missing => Stock::Missing,
        })
    }

    fn known_buyer(&self, user: &F::Name) -> Result<Option<bool>, F::Error> {
        if self.users.contains_key(user) { Ok(Some(true)) } else { self.base.known_buyer(user) }
    }

    fn is_buyer(&self, user: &F::Name) -> Result<bool, F::Error> {
        Ok(self.users.contains_key(user) || self.base.is_buyer(user)?)
    }

    fn entry(&self, id: &F::Name) -> Result<Option<Entry<F::Name>>, F::Error> {
        let take = self.orders.get(id).and_then(|take| self.takes.get(*take));
        match take.and_then(|take| take.booked.as_ref()) {
            Some(booked) => Ok(Some(booked.entry.clone())),
            None => self.base.entry(id),
        }
    }

    /// Tries of one command release nothing after the first has been accepted.
    fn is_missing(&self, part: Needed) -> Result<bool, F::Error> {
        self.base.is_missing(part)
    }

    fn units_of(&self, user: &F::Name) -> Result<Has, F::Error> {
        match self.users.get(user) {
            Some(units) => Ok(*units),
            None => self.base.units_of(user),
        }
    }

    fn user_units(&self, user: &F::Name) -> Result<Option<UserUnits<F::Name>>, F::Error> {
        let last = self.takes.iter().rev().find(|take| take.order.user == *user);
        match last.and_then(|take| take.booked.as_ref()) {
            Some(booked) => Ok(Some(booked.has.clone())),
            None => self.base.user_units(user),
        }
    }

    fn taken(&self) -> Result<i64, F::Error> {
        let before = match self.taken_before.get() {
            Some(taken) => taken,
            None => {
                let taken = self.base.taken()?;
                self.taken_before.set(Some(taken));
                taken
            }
        };
        Ok(before.saturating_add(self.taken))
    }

    fn note_surplus(&self, units: i64) {
        self.base.note_surplus(units);
    }

    fn payment(&self, reference: &F::Name) -> Result<Option<Payment<F::Name>>, F::Error> {
        self.base.payment(reference)
    }

    fn last_sale(&self) -> Result<Option<SaleId>, F::Error> {
        self.base.last_sale()
    }

    fn outside(&self, order: &F::Name) -> Result<Option<Units>, F::Error> {
        self.base.outside(order)
    }

    fn keepable(&self) -> Result<(), F::Error> {
        self.base.keepable()
    }

    /// No order of this command is due, since its deadline lies ahead.
    fn due(&self, most: usize) -> Result<Option<FirstDue<F::Name>>, F::Error> {
        if let Some(due) = self.due.get() {
            return Ok(due.clone());
        }
        let due = self.base.due(most)?;
        Ok(self.due.get_or_init(|| due).clone())
    }

    fn sees_holds(&self) -> Result<(), F::Error> {
        self.base.sees_holds()
    }

    fn held(&self, most: usize) -> Result<(Vec<F::Name>, u64), F::Error> {
        self.base.held(most)
    }

    /// No try of this command joins the queue.
    fn is_waited_for(&self) -> Result<bool, F::Error> {
        if let Some(known) = self.is_waited_for.get() {
            return Ok(known);
        }
        let is_waited_for = self.base.is_waited_for()?;
        self.is_waited_for.set(Some(is_waited_for));
        Ok(is_waited_for)
    }

    fn queue(&self) -> Result<Queue, F::Error> {
        self.base.queue()
    }

    fn first_waiting(&self) -> Result<Option<First<F::Name>>, F::Error> {
        self.base.first_waiting()
    }

    fn queue_writable(&self) -> Result<(), F::Error> {
        self.base.queue_writable()
    }

    fn has_own_keys(&self, with_stock: bool) -> Result<bool, F::Error> {
        self.base.has_own_keys(with_stock)
    }

    /// The tries so far have asked for their entries.
    fn room(&self, stream: Stream) -> Result<(), F::Error> {
        if stream == Stream::Orders && !self.is_empty() { Ok(()) } else { self.base.room(stream) }
    }

    fn writable(&self, counts: bool) -> Result<(), F::Error> {
        self.base.writable(counts)
    }

    fn releasable(&self) -> Result<(), F::Error> {
        self.base.releasable()
    }
}
