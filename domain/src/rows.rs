//! The row of an order: the join of what its entries say.
//!
//! A row belongs to voucher, sale, order and user. It consists of the greatest and the least units
//! that any entry of the order says, so neither order nor repetition nor batching of entries can
//! change it, and a loss of the server takes nothing back. No time and no id decides anything.

use crate::book::State;
use crate::payments::Outcome;
use crate::sale::Units;
use crate::stream_entry::{self, Says};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// How often something was said, each time by an entry with an id of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Times<I> {
    #[default]
    Never,
    /// By the server's book, whose entry is not known: the first that is read is that.
    Book,
    Once(I),
    More,
}

impl<I: Copy + Eq> Times<I> {
    /// By this entry; None for the book's own word.
    pub fn by(entry: Option<I>) -> Self {
        entry.map_or(Self::Book, Self::Once)
    }

    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, it) | (it, Self::Never) => it,
            (Self::Book, it) | (it, Self::Book) => it,
            (Self::Once(one), Self::Once(other)) if one == other => self,
            _ => Self::More,
        }
    }
}

/// A payment as an entry names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Paid<R> {
    pub reference: R,
    /// The units that it is for, 1 or more, if the shop has said that.
    pub units: Option<i64>,
}

/// What one entry, or the server's book, says of one order. Units are 1 or more, those that are
/// kept 0 or more.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Report<R> {
    /// Accepted: held, or sold at once.
    Accepted { units: i64, is_held: bool },
    /// Confirmed, with the units that the order has.
    Confirmed { units: i64, payment: Option<Paid<R>> },
    /// A payment that changes no units, of an order that has, or had, so many.
    Payment { outcome: Outcome, payment: Paid<R>, units: i64 },
    /// So many units were released, and so many kept.
    Released(Release<R>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Release<R> {
    pub units: i64,
    pub kept: i64,
    pub was_sold: bool,
    /// The payment of a sold order.
    pub reference: Option<R>,
    /// The shop has refunded the units already.
    pub is_refunded: bool,
    /// The units were not put on sale again.
    pub is_norestock: bool,
}

impl<R> Report<R> {
    /// What an entry says of the order of a managed voucher, with references named so.
    pub fn of<V>(entry: stream_entry::EventEntry<V>, name: impl Fn(V) -> R) -> Option<Self> {
        let units = entry.order.units.get();
        let payment = |reference, paid: Option<Units>| Paid {
            reference: name(reference),
            units: paid.map(Units::get),
        };
        Some(match entry.says {
            Says::Accepted { deadline, .. } => {
                Self::Accepted { units, is_held: deadline.is_some() }
            }
            Says::Confirmed { reference, paid } => {
                let payment = reference.map(|reference| payment(reference, paid));
                Self::Confirmed { units, payment }
            }
            Says::Payment { outcome, reference, paid } => {
                Self::Payment { outcome, payment: payment(reference?, paid), units }
            }
            Says::Released(it) => Self::Released(Release {
                units,
                kept: it.kept.map_or(0, Units::get),
                was_sold: it.was == Some(State::Sold),
                reference: it.reference.map(name),
                is_refunded: it.refunded,
                is_norestock: it.norestock,
            }),
        })
    }
}

/// The state of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Held,
    Sold,
    /// Released before it was paid for, or sold.
    Released,
    /// Released after it was sold: what was paid is due.
    #[serde(rename = "refunded")]
    ReleasedSold,
}

/// The row of an order of a managed voucher, with what is needed to see a conflict in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Row<I> {
    /// The most units that were asked for; 0 if no entry says any.
    pub asked: i64,
    /// The most units that were sold; 0 if none were.
    pub sold: i64,
    /// The fewest units that a held order was reduced to; None if it never was.
    pub held_to: Option<i64>,
    /// The same of a sold order.
    pub sold_to: Option<i64>,
    /// Acceptances.
    pub accepted: Times<I>,
    /// Confirmations without a reference.
    pub confirmed: Times<I>,
    /// It was sold at once.
    pub is_at_once: bool,
    /// The fewest units that were asked for.
    pub asked_least: Option<i64>,
    /// The fewest units that a confirmation had.
    pub confirmed_least: Option<i64>,
    /// Units of it left the sale when they were released.
    pub is_norestock: bool,
}

impl<I> Default for Row<I> {
    fn default() -> Self {
        Self {
            asked: 0,
            sold: 0,
            held_to: None,
            sold_to: None,
            accepted: Times::Never,
            confirmed: Times::Never,
            is_at_once: false,
            asked_least: None,
            confirmed_least: None,
            is_norestock: false,
        }
    }
}

/// The lesser one of what is known and what is said.
fn least(known: Option<i64>, said: i64) -> Option<i64> {
    Some(known.map_or(said, |known| known.min(said)))
}

/// Units that a bound of the row leaves.
fn bounded(units: i64, bound: Option<i64>) -> i64 {
    bound.map_or(units, |bound| units.min(bound))
}

impl<I: Copy + Eq> Row<I> {
    /// Joins what an entry says; None for the book's own word. What it says of payments is not
    /// part of the row.
    pub fn join<R>(&mut self, entry: Option<I>, report: &Report<R>) {
        match report {
            Report::Accepted { units, is_held } => {
                self.accepted = self.accepted.join(Times::by(entry));
                self.asked = self.asked.max(*units);
                self.asked_least = least(self.asked_least, *units);
                if !is_held {
                    self.is_at_once = true;
                    self.sold = self.sold.max(*units);
                }
            }
            Report::Confirmed { units, payment } => {
                if payment.is_none() {
                    self.confirmed = self.confirmed.join(Times::by(entry));
                }
                self.sold = self.sold.max(*units);
                self.confirmed_least = least(self.confirmed_least, *units);
                // More was paid for than the order has: it keeps what it has, also after a loss.
                let paid = payment.as_ref().and_then(|payment| payment.units);
                if paid.is_some_and(|paid| paid > *units) {
                    self.sold_to = least(self.sold_to, *units);
                }
            }
            Report::Released(release) => {
                let had = release.units.saturating_add(release.kept);
                self.is_norestock |= release.is_norestock;
                if release.was_sold {
                    self.sold = self.sold.max(had);
                    self.sold_to = least(self.sold_to, release.kept);
                } else {
                    self.asked = self.asked.max(had);
                    self.held_to = least(self.held_to, release.kept);
                }
            }
            // It is the payment of an order that was sold and released.
            Report::Payment { outcome: Outcome::Released, units, .. } => {
                self.sold = self.sold.max(*units);
                self.sold_to = least(self.sold_to, 0);
            }
            Report::Payment { .. } => {}
        }
    }

    /// Does any entry speak of the order itself?
    pub fn is_known(&self) -> bool {
        self.asked > 0 || self.sold > 0
    }

    pub fn phase(&self) -> Phase {
        if self.sold_to == Some(0) {
            Phase::ReleasedSold
        } else if self.sold > 0 {
            Phase::Sold
        } else if self.held_to == Some(0) {
            Phase::Released
        } else {
            Phase::Held
        }
    }

    /// The units that it has: held or sold.
    pub fn live(&self) -> i64 {
        match self.phase() {
            Phase::Held => bounded(self.asked, self.held_to),
            Phase::Sold => bounded(self.sold, self.sold_to),
            Phase::Released | Phase::ReleasedSold => 0,
        }
    }

    /// The units that are sold, and not released.
    pub fn kept(&self) -> i64 {
        bounded(self.sold, self.sold_to)
    }

    /// The units of it that left the sale: at most, where others were on sale again.
    pub fn withdrawn(&self) -> i64 {
        if self.is_norestock { self.asked.max(self.sold).saturating_sub(self.live()) } else { 0 }
    }

    /// Was the order sold with more units than it was reduced to before?
    pub(crate) fn is_sold_beyond_hold(&self) -> bool {
        self.held_to.is_some_and(|held_to| held_to < self.sold)
    }

    /// Was it accepted again, though it had gone on?
    pub(crate) fn is_accepted_again(&self, is_paid: bool) -> bool {
        let was_reduced = self.held_to.is_some() || self.sold_to.is_some();
        let has_gone_on = if self.is_at_once { is_paid } else { self.sold > 0 };
        self.accepted == Times::More && (was_reduced || has_gone_on)
    }

    /// Had it gone on from a confirmation that was said more than once?
    pub(crate) fn has_left_confirmation(&self) -> bool {
        let fewer = self.confirmed_least.is_some_and(|least| least < self.sold);
        self.sold_to.is_some() || fewer || self.is_sold_beyond_hold()
    }

    pub(crate) fn is_asked_otherwise(&self) -> bool {
        self.asked_least.is_some_and(|least| least != self.asked)
    }
}

/// The row of an order of an unmanaged voucher, which has no book: known by its entries alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unmanaged<I> {
    accepted: BTreeSet<I>,
    released: BTreeSet<I>,
    /// The most units that it was accepted for.
    pub units: i64,
}

impl<I> Default for Unmanaged<I> {
    fn default() -> Self {
        Self { accepted: BTreeSet::new(), released: BTreeSet::new(), units: 0 }
    }
}

impl<I: Ord> Unmanaged<I> {
    pub fn accept(&mut self, entry: I, units: i64) {
        self.accepted.insert(entry);
        self.units = self.units.max(units);
    }

    /// Joins a release. One by a consumer's rejection names the entry that it rejects, which was
    /// accepted, whether it is read or not.
    pub fn release(&mut self, entry: I, rejects: Option<I>, units: i64) {
        self.released.insert(entry);
        self.accepted.extend(rejects);
        self.units = self.units.max(units);
    }

    /// The entries of acceptances that are known, ascending.
    pub fn accepted(&self) -> impl Iterator<Item = &I> {
        self.accepted.iter()
    }

    /// Those of releases.
    pub fn released(&self) -> impl Iterator<Item = &I> {
        self.released.iter()
    }

    /// More acceptances than releases are known.
    pub fn is_live(&self) -> bool {
        self.accepted.len() > self.released.len()
    }
}
