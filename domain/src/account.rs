//! The account of an order in a shop's database: its row, its payments, the ruling about it, and
//! what the shop's own tables have of it.
//!
//! An entry is read once: its id makes a repetition known, and orders nothing. Then lines and
//! statements follow from the account alone.

use crate::conflicts::Conflicts;
use crate::flat_map::FlatMap;
use crate::homes::PaymentRow;
use crate::references::Others;
use crate::rows::{Phase, Report, Row, Times};
use crate::ruling::{Basis, Ruling};
use crate::unit_set::UnitSet;

/// What the shop's tables have of an order: the sum of the statements that were run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shop {
    /// None before the order was inserted: that happens once in a row's life.
    pub phase: Option<Phase>,
    pub units: i64,
}

/// An event of the shop's file of statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Event {
    Held,
    Sold,
    Confirmed,
    Reduced,
    Released,
    /// The order lives again, by a ruling.
    Restored,
}

impl Event {
    pub const ALL: [Self; 6] =
        [Self::Sold, Self::Held, Self::Confirmed, Self::Reduced, Self::Released, Self::Restored];

    /// The name in the file.
    pub fn word(self) -> &'static str {
        match self {
            Self::Sold => "on_sold",
            Self::Held => "on_held",
            Self::Confirmed => "on_confirmed",
            Self::Reduced => "on_reduced",
            Self::Released => "on_released",
            Self::Restored => "on_restored",
        }
    }
}

/// A step of an order for the shop's statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    pub event: Event,
    /// The state before, None of an order that is inserted, and after it.
    pub old: Option<Phase>,
    pub new: Phase,
    /// `:units`, those of this step, and `:kept`, those that the order has after it.
    pub units: i64,
    pub kept: i64,
}

/// What is not clear of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Unclear {
    /// It is several orders'.
    Whose,
    /// For how many units it is: several numbers were said, or none of a part of a cart that is
    /// to be refunded as a whole.
    Units,
}

/// An order's account. `R` is a reference, `I` an entry: its stream and id.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Account<R: Ord, I> {
    pub row: Row<I>,
    pub payments: FlatMap<R, PaymentRow<I>>,
    pub ruling: Option<Ruling<R>>,
    /// How many rulings there were: a transaction refuses if it was shown another number.
    pub rulings: u64,
    pub shop: Shop,
    /// Another user has an order of this id.
    pub has_two_users: bool,
}

impl<R: Ord, I> Default for Account<R, I> {
    fn default() -> Self {
        Self {
            row: Row::default(),
            payments: FlatMap::default(),
            ruling: None,
            rulings: 0,
            shop: Shop::default(),
            has_two_users: false,
        }
    }
}

impl<R: Ord + Clone, I: Copy + Eq> Account<R, I> {
    /// Joins an entry that is not known yet, or, without an id, the book's own words.
    pub fn read(&mut self, entry: Option<I>, report: &Report<R>) {
        self.join(entry, report);
        if let (Report::Released(release), Some(ruling)) = (report, &self.ruling)
            && release.was_sold
            && release.kept < ruling.kept
        {
            self.ruling = None;
        }
    }

    /// The same, and no ruling ends: what a ruling's own steps on the server have said.
    pub fn join(&mut self, entry: Option<I>, report: &Report<R>) {
        self.row.join(entry, report);
        let reference = match report {
            Report::Confirmed { payment, .. } => payment.as_ref().map(|it| &it.reference),
            Report::Payment { payment, .. } => Some(&payment.reference),
            Report::Released(release) => release.reference.as_ref().filter(|_| release.was_sold),
            Report::Accepted { .. } => None,
        };
        if let Some(reference) = reference {
            let mut payment = self.payments.get(reference).cloned().unwrap_or_default();
            payment.join(entry, report);
            self.payments.insert(reference.clone(), payment);
        }
    }

    /// References of payments that paid the order.
    pub fn paying(&self) -> impl Iterator<Item = &R> {
        self.paying_payments().map(|(r, _)| r)
    }

    fn paying_payments(&self) -> impl Iterator<Item = (&R, &PaymentRow<I>)> {
        self.payments.iter().filter(|(_, it)| it.pays && !it.is_nothing)
    }

    /// Everything that contradicts; `others` tells what other orders of a reference mean.
    pub fn conflicts(&self, others: impl Fn(&R) -> Others) -> Conflicts {
        let row = &self.row;
        let is_paid = self.payments.values().any(|it| it.pays);
        let is_again = |times: Times<I>| times == Times::More;
        let paid_again = is_again(row.confirmed)
            || self.payments.values().any(|payment| is_again(payment.confirmed));
        let mut all = Conflicts::NONE
            .with(Conflicts::SOLD_BEYOND_HOLD, row.is_sold_beyond_hold())
            .with(Conflicts::TWO_REFERENCES, self.paying().count() > 1)
            .with(Conflicts::ACCEPTED_AGAIN, row.is_accepted_again(is_paid))
            .with(Conflicts::PAID_AGAIN, paid_again && row.has_left_confirmation())
            .with(Conflicts::ASKED_OTHERWISE, row.is_asked_otherwise())
            .with(Conflicts::TWO_USERS, self.has_two_users);
        for (reference, payment) in self.payments.iter() {
            // Of a payment that is another order's, this order keeps nothing. Without UNITS it is
            // for what the order had, and a release that is not read yet tells that. One that is
            // only late or a duplicate here never was for what the order keeps.
            let stated = payment.stated.units();
            let has = if payment.is_nothing { payment.units() } else { stated };
            let has = has.filter(|_| payment.pays);
            let is_shared = payment.is_in_use() && others(reference).is_conflict;
            let is_both =
                payment.is_in_use() && payment.pays && (payment.is_late || payment.is_duplicate);
            all = all
                .with(Conflicts::REFERENCE, is_both || is_shared)
                .with(Conflicts::PAID_OTHERWISE, payment.is_stated_otherwise())
                .with(Conflicts::TWO_HOMES, !payment.in_two_homes().is_empty())
                .with(Conflicts::PAID_TOO_FEW, has.is_some_and(|units| units < row.kept()));
        }
        all
    }

    /// The numbers that a ruling would be made on.
    pub fn basis(&self) -> Basis<R> {
        let row = &self.row;
        Basis {
            asked: row.asked,
            sold: row.sold,
            held_to: row.held_to,
            sold_to: row.sold_to,
            payments: self.paying_payments().map(|(r, it)| (r.clone(), it.units())).collect(),
        }
    }

    /// The ruling, if it stands: the join gives the numbers that it was made on, or the same units,
    /// payments and references; and it has answered every conflict that stops lines.
    pub fn standing(&self, conflicts: Conflicts) -> Option<&Ruling<R>> {
        let ruling = self.ruling.as_ref()?;
        let basis = self.basis();
        let agrees = self.row.kept() == ruling.kept
            && self.row.live() == ruling.kept
            && basis.payments == ruling.basis.payments;
        let is_same = basis == ruling.basis || agrees;
        let is_answered = !conflicts.without(ruling.conflicts).has(Conflicts::HARD);
        Some(ruling).filter(|_| is_same && is_answered)
    }

    /// A payment of the order of which something is to be said before anything is ruled of the
    /// order: else a ruling would refund, or keep, what was not paid for it.
    pub fn unclear(&self, others: impl Fn(&R) -> Others) -> Option<(&R, Unclear)> {
        let why = |(reference, payment): &(&R, &PaymentRow<I>)| {
            let others = others(reference);
            match payment.is_in_use() && others.is_conflict {
                true if others.is_of_others => Some(Unclear::Whose),
                true => Some(Unclear::Units),
                false => payment.is_stated_otherwise().then_some(Unclear::Units),
            }
        };
        let all = self.payments.iter().filter_map(|it| Some((it.0, why(&it)?)));
        all.min_by_key(|(_, unclear)| *unclear)
    }

    /// The units that are sold and kept, and the reference that pays for them.
    pub fn kept(&self, conflicts: Conflicts) -> (i64, Option<&R>) {
        match self.standing(conflicts) {
            Some(ruling) => (ruling.kept, ruling.reference.as_ref()),
            None => (self.row.kept(), self.paying().next()),
        }
    }

    /// The units that are kept with this payment.
    pub fn kept_with(&self, reference: &R, conflicts: Conflicts) -> i64 {
        let (kept, by) = self.kept(conflicts);
        if by == Some(reference) { kept } else { 0 }
    }

    /// Writes the lines that are due, and returns them: reference, first and last unit.
    pub fn write_lines(&mut self, others: impl Fn(&R) -> Others) -> Vec<(R, i64, i64)> {
        let conflicts = self.conflicts(&others);
        let ruling = self.standing(conflicts);
        if conflicts.has(Conflicts::HARD) && ruling.is_none() {
            return Vec::new();
        }
        let ruled = ruling.map(|it| (it.kept, it.reference.clone()));
        let mut written = Vec::new();
        for (reference, payment) in self.payments.iter_mut() {
            if payment.is_nothing {
                continue;
            }
            let kept = ruled.as_ref().filter(|(_, by)| by.as_ref() == Some(reference));
            let kept = kept.map_or(UnitSet::EMPTY, |(kept, _)| UnitSet::lowest(*kept));
            let gone = kept.union(&payment.lines).union(&others(reference).gone);
            let due = payment.due().without(&gone);
            payment.lines = payment.lines.union(&due);
            written.extend(due.ranges().map(|(first, last)| (reference.clone(), first, last)));
        }
        written
    }

    /// What the shop's tables should have: state and units.
    pub fn target(&self, conflicts: Conflicts) -> (Phase, i64) {
        match self.standing(conflicts) {
            Some(ruling) if ruling.kept > 0 => (Phase::Sold, ruling.kept),
            Some(_) if self.row.sold > 0 => (Phase::ReleasedSold, 0),
            Some(_) => (Phase::Released, 0),
            None => (self.row.phase(), self.row.live()),
        }
    }

    /// The steps that bring the shop's tables to what they should have, in their order, noted as
    /// run. An order is inserted once, when its own entry is known or a ruling keeps it; it gets
    /// more units, or lives again, by a ruling alone. One that was held is confirmed before units
    /// of it are released that were sold, also if both are read together.
    pub fn step(&mut self, conflicts: Conflicts) -> Vec<Step> {
        let is_ruled = self.standing(conflicts).is_some();
        let (phase, units) = self.target(conflicts);
        let mut steps = Vec::new();
        let mut shop = self.shop;
        let mut take = |shop: &mut Shop, event, new, units: i64| {
            let by = units.saturating_sub(shop.units);
            let all = matches!(event, Event::Confirmed) || by == 0;
            let step = if all { units } else { by.saturating_abs() };
            steps.push(Step { event, old: shop.phase, new, units: step, kept: units });
            *shop = Shop { phase: Some(new), units };
        };
        match shop.phase {
            None if units > 0 && (self.row.accepted != Times::Never || is_ruled) => {
                let was_held = !self.row.is_at_once && self.row.accepted != Times::Never;
                let event = if was_held { Event::Held } else { Event::Sold };
                take(&mut shop, event, if was_held { Phase::Held } else { phase }, units);
            }
            Some(Phase::Held)
                if !is_ruled && matches!(phase, Phase::Sold | Phase::ReleasedSold) =>
            {
                // Not with more units than were sold, and before what was released after that.
                let sold = self.row.sold.min(shop.units);
                if sold < shop.units {
                    take(&mut shop, Event::Reduced, Phase::Held, sold);
                }
                take(&mut shop, Event::Confirmed, Phase::Sold, sold);
            }
            _ => {}
        }
        match shop.phase {
            Some(Phase::Held | Phase::Sold) if units < shop.units && units > 0 => {
                let phase = shop.phase.unwrap_or(phase);
                take(&mut shop, Event::Reduced, phase, units);
            }
            Some(Phase::Held | Phase::Sold) if units == 0 => {
                take(&mut shop, Event::Released, phase, 0);
            }
            Some(_) if units > shop.units && is_ruled => {
                take(&mut shop, Event::Restored, phase, units);
            }
            _ => {}
        }
        if phase == Phase::Sold && shop.phase == Some(Phase::Held) {
            let units = shop.units;
            take(&mut shop, Event::Confirmed, phase, units);
        }
        self.shop = shop;
        steps
    }

    /// Does the shop's tables lack units of the order, which no entry writes there? It is to live
    /// again, or its own entry is not known: that is a question.
    pub fn is_to_be_restored(&self, conflicts: Conflicts) -> bool {
        let (_, units) = self.target(conflicts);
        units > self.shop.units
    }
}
