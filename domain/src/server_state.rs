//! What the server says of an order and its payments.

use crate::flat_map::FlatMap;
use crate::payments::Outcome;
use crate::rows::Phase;
use crate::unit_set::UnitSet;

/// An order in the server's book, which had units: it neither waits nor ended in the waiting list.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Booked<R> {
    pub phase: Phase,
    /// What it has, or had when it was released.
    pub units: i64,
    pub asked: i64,
    pub reference: Option<R>,
    /// The units that were paid, if the book tells.
    pub paid: Option<i64>,
    /// Units that were refunded when they were released.
    pub refunded: UnitSet,
}

impl<R> Booked<R> {
    /// The units that are sold now.
    pub(crate) fn sold(&self) -> i64 {
        if self.phase == Phase::Sold { self.units } else { 0 }
    }
}

/// The server's record of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Record {
    pub outcome: Outcome,
    /// It names this order.
    pub is_its: bool,
    pub units: Option<i64>,
}

/// What the server says of an order and its payments, at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Server<R: Ord> {
    /// None if there is no such order, or it has no units yet.
    pub order: Option<Booked<R>>,
    /// Units that were taken off the sale for it.
    pub outside: i64,
    pub records: FlatMap<R, Record>,
    /// Units that are left.
    pub left: i64,
    /// The sale is not the server's current one: nothing is done there.
    pub is_over: bool,
}

impl<R: Ord> Server<R> {
    pub(crate) fn sold(&self) -> i64 {
        self.order.as_ref().map_or(0, Booked::sold)
    }

    pub(crate) fn is_held(&self) -> bool {
        self.order.as_ref().is_some_and(|order| order.phase == Phase::Held)
    }
}
