//! The homes of a payment's units. Each unit that was paid has a number, from 1, and exactly one
//! home: it is on a line of refunds, refunded elsewhere, kept by the order, or open.
//!
//! (`payments` has the server's own record of a payment; here is what a shop's database knows.)

use crate::payments::Outcome;
use crate::rows::{Report, Times};
use crate::unit_set::UnitSet;

/// The units of a payment, as UNITS or the provider's list says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stated {
    #[default]
    Never,
    Once(i64),
    /// Different numbers, and the greatest of them.
    Several(i64),
    /// An operator has said it, by the provider's books: whatever entries and records say.
    Ruled(i64),
}

impl Stated {
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        match (self, other) {
            (Self::Never, it) | (it, Self::Never) => it,
            (Self::Ruled(units), _) | (_, Self::Ruled(units)) => Self::Ruled(units),
            (Self::Once(one), Self::Once(other)) if one == other => self,
            (Self::Once(one) | Self::Several(one), Self::Once(other) | Self::Several(other)) => {
                Self::Several(one.max(other))
            }
        }
    }

    /// The number, the greatest of several; None if none was said.
    pub fn units(self) -> Option<i64> {
        match self {
            Self::Never => None,
            Self::Once(units) | Self::Several(units) | Self::Ruled(units) => Some(units),
        }
    }
}

/// A payment of one order, by its reference: the join of what entries say of it, and the homes of
/// its units. Belongs to reference, voucher, sale, order and user.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PaymentRow<I> {
    /// Confirmations of the order by it.
    pub confirmed: Times<I>,
    /// It paid the order.
    pub pays: bool,
    pub is_late: bool,
    pub is_duplicate: bool,
    pub is_unmatched: bool,
    /// It became the payment of an order that had been sold and released.
    pub is_of_released: bool,
    /// The most units that the order had when this paid it; 0 if it did not.
    pub had: i64,
    pub stated: Stated,
    /// Units that are due by releases, or since the order had fewer than were paid.
    pub released: UnitSet,
    /// Units that entries say the shop has refunded without a line.
    pub elsewhere: UnitSet,
    /// The same, as an operator has said in a ruling.
    pub ruled_elsewhere: UnitSet,
    /// Units on lines: each range is one or more lines. Never fewer.
    pub lines: UnitSet,
    /// An operator has said that the reference is another order's: nothing of it is kept here.
    pub is_nothing: bool,
}

impl<I> Default for PaymentRow<I> {
    fn default() -> Self {
        Self {
            confirmed: Times::Never,
            pays: false,
            is_late: false,
            is_duplicate: false,
            is_unmatched: false,
            is_of_released: false,
            had: 0,
            stated: Stated::Never,
            released: UnitSet::EMPTY,
            elsewhere: UnitSet::EMPTY,
            ruled_elsewhere: UnitSet::EMPTY,
            lines: UnitSet::EMPTY,
            is_nothing: false,
        }
    }
}

/// How the units of a payment are distributed; together they are what was paid.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Homes {
    pub kept: UnitSet,
    pub lines: UnitSet,
    pub elsewhere: UnitSet,
    pub open: UnitSet,
}

impl<I: Copy + Eq> PaymentRow<I> {
    /// Joins what an entry says of this payment; None for the book's own word.
    pub fn join<R>(&mut self, entry: Option<I>, report: &Report<R>) {
        match report {
            Report::Confirmed { units, payment: Some(payment) } => {
                self.confirmed = self.confirmed.join(Times::by(entry));
                self.pays = true;
                self.had = self.had.max(*units);
                self.state(payment.units);
                let due = UnitSet::between(units.saturating_add(1), payment.units.unwrap_or(0));
                self.released = self.released.union(&due);
            }
            Report::Payment { outcome, payment, units } => {
                match outcome {
                    Outcome::Late => self.is_late = true,
                    Outcome::Duplicate => self.is_duplicate = true,
                    Outcome::Unmatched => self.is_unmatched = true,
                    Outcome::First | Outcome::Released => {
                        self.pays = true;
                        self.had = self.had.max(*units);
                        self.is_of_released |= *outcome == Outcome::Released;
                    }
                }
                self.state(payment.units);
            }
            Report::Released(release) if release.was_sold => {
                let had = release.units.saturating_add(release.kept);
                self.pays = true;
                self.had = self.had.max(had);
                let units = UnitSet::between(release.kept.saturating_add(1), had);
                let home =
                    if release.is_refunded { &mut self.elsewhere } else { &mut self.released };
                *home = home.union(&units);
            }
            Report::Accepted { .. } | Report::Confirmed { .. } | Report::Released(_) => {}
        }
    }

    fn state(&mut self, units: Option<i64>) {
        self.stated = self.stated.join(units.map_or(Stated::Never, Stated::Once));
    }

    /// How many units it is for. None of one that came without UNITS, and paid no order that is
    /// known.
    pub fn units(&self) -> Option<i64> {
        match self.stated.units() {
            _ if self.is_nothing => Some(0),
            None if self.pays && self.had > 0 => Some(self.had),
            stated => stated,
        }
    }

    /// All its units.
    pub fn all(&self) -> UnitSet {
        self.units().map_or_else(UnitSet::whole, UnitSet::lowest)
    }

    /// Is the reference in use by this order? An unmatched payment is not.
    pub fn is_in_use(&self) -> bool {
        (self.pays || self.is_late || self.is_duplicate) && !self.is_nothing
    }

    /// Was it said to be of different units?
    pub fn is_stated_otherwise(&self) -> bool {
        matches!(self.stated, Stated::Several(_)) && !self.is_nothing
    }

    /// Is it one whole, since nobody has said its number of units?
    pub fn is_whole(&self) -> bool {
        self.is_in_use() && self.units().is_none()
    }

    /// Is the number of its units what may be unclear of its order?
    pub fn has_unclear_units(&self) -> bool {
        self.is_whole() || self.is_stated_otherwise()
    }

    /// The units that are due by what entries say: whatever else is known, these are not kept.
    pub fn due(&self) -> UnitSet {
        let is_whole = self.is_late || self.is_duplicate || self.is_of_released;
        let due = if is_whole { self.all() } else { self.released.common(&self.all()) };
        due.without(&self.refunded_elsewhere())
    }

    /// Units that are refunded without a line.
    pub fn refunded_elsewhere(&self) -> UnitSet {
        self.elsewhere.union(&self.ruled_elsewhere)
    }

    /// Units that have a home for ever: they are on a line or refunded elsewhere.
    pub fn gone(&self) -> UnitSet {
        self.lines.union(&self.refunded_elsewhere())
    }

    /// Units that entries say are due, or that are on lines, and that others say are refunded.
    pub fn in_two_homes(&self) -> UnitSet {
        self.released.union(&self.lines).common(&self.elsewhere)
    }

    /// The home of each unit, with so many kept by the order. `gone` has a home with another order.
    pub fn homes(&self, kept: i64, gone: &UnitSet) -> Homes {
        let all = self.all();
        let lines = self.lines.common(&all);
        let elsewhere = self.refunded_elsewhere().common(&all).without(&lines);
        let left = all.without(&lines).without(&elsewhere).without(gone);
        let kept = left.common(&UnitSet::lowest(kept));
        let open = if self.is_in_use() || self.is_unmatched && !self.is_nothing {
            left.without(&kept)
        } else {
            UnitSet::EMPTY
        };
        Homes { kept, lines, elsewhere, open }
    }
}
