//! How many units payments were for, as entries tell. What no entry tells is counted as not paid,
//! so that nothing is refunded that was not, until one tells, or a person. Pure.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashMap};

use domain::book::{Span, State};
use domain::sale::Units;

use super::draft::Draft;
use super::{Answer, Change, Plan, Record, Row, Sole, UNTOLD, WAS_SOLD, is_release};
use crate::order_events::{Event, Kind, OrderKey};

/// The units of a payment: at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paid {
    pub least: i64,
    pub most: i64,
}

impl Paid {
    pub const UNKNOWN: Self = Self { least: 0, most: i64::MAX };

    pub fn exactly(units: i64) -> Self {
        Self { least: units, most: units }
    }

    /// What an entry tells. Units are only released, never added.
    pub fn told_by(event: &Event) -> Option<Self> {
        let Event { units, kind, .. } = event;
        match kind {
            // Repairing makes it of the record of payments, which has no units.
            _ if event.is_made() => None,
            Kind::Confirmed => Some(Self::exactly(event.paid.unwrap_or(*units))),
            Kind::Released { was: Some(State::Held), kept: Some(kept), .. } => {
                Some(Self { most: *kept, ..Self::UNKNOWN })
            }
            Kind::Released { was: Some(State::Sold), kept, .. } => {
                let least = kept.unwrap_or(0).saturating_add(*units);
                Some(Self { least, ..Self::UNKNOWN })
            }
            Kind::Order { .. } => Some(Self { most: *units, ..Self::UNKNOWN }),
            _ => None,
        }
    }

    pub(super) fn and(self, other: Self) -> Self {
        // A confirmation is exact, whatever a server says that has lost it.
        match (self.least == self.most, other.least == other.most) {
            (true, _) => self,
            (_, true) => other,
            _ => Self { least: self.least.max(other.least), most: self.most.min(other.most) },
        }
    }

    /// Of an order that had so many units and has so many.
    pub fn within(self, kept: i64, had: i64) -> Self {
        let least = self.least.clamp(kept.min(had), had);
        Self { least, most: self.most.clamp(least, had) }
    }
}

/// How many units the payments of held orders were for, as far as a batch tells. Few orders ask.
pub struct Payments<'e> {
    events: &'e [(Event, Sole)],
    by_order: OnceCell<HashMap<&'e OrderKey, Paid>>,
}

impl<'e> Payments<'e> {
    pub fn of_batch(events: &'e [(Event, Sole)]) -> Self {
        Self { events, by_order: OnceCell::new() }
    }

    /// Of an order that may have had more units before it was paid.
    pub fn of(&self, draft: &Draft<'_>, event: &Event) -> Paid {
        let (state, units) = match draft.before {
            Some(row) => (row.known.state, row.known.units.max(event.units)),
            None => (State::Held, event.units),
        };
        if units <= 1 || state != State::Held || !event.key.is_managed() {
            return Paid::UNKNOWN;
        }
        let by_order = self.by_order.get_or_init(|| self.read());
        by_order.get(&event.key).copied().unwrap_or(Paid::UNKNOWN)
    }

    fn read(&self) -> HashMap<&'e OrderKey, Paid> {
        let mut paid: HashMap<&OrderKey, Paid> = HashMap::new();
        for (event, _) in self.events {
            if let Some(told) = Paid::told_by(event) {
                let of = paid.entry(&event.key).or_insert(Paid::UNKNOWN);
                *of = of.and(told);
            }
        }
        paid
    }
}

impl Draft<'_> {
    /// Notes units that were refunded elsewhere, as the book tells and the entry. Only units that
    /// were paid can be.
    pub(super) fn hear_refunds(&mut self, answer: Option<&Answer>, event: &Event) {
        let by_book = match answer {
            Some(Answer::Has(fact)) if fact.user == event.user => &fact.elsewhere[..],
            _ => &[],
        };
        let by_entry = match event.kind {
            Kind::Released { kept, .. } if event.is_refunded => {
                let had = Units::new(kept.unwrap_or(0).saturating_add(event.units));
                had.and_then(|had| Span::behind(kept.and_then(Units::new), had))
            }
            _ => None,
        };
        self.elsewhere.extend(by_book.iter().copied().chain(by_entry));
        if let Some(last) = self.elsewhere.iter().map(|span| span.last.get()).max() {
            self.paid = self.paid.and(Paid { least: last, ..Paid::UNKNOWN });
        }
    }

    /// Writes what an entry tells of a payment that was not known: units that were paid and are
    /// neither kept nor on lines are refunded.
    pub(super) fn explain(&mut self, event: &Event, records: &mut Vec<Record>) {
        let row = &mut self.row;
        let Some(reference) = &row.known.reference else { return };
        let is_other = event.reference.as_ref().is_some_and(|its| its != reference);
        let Some(told) = Paid::told_by(event).filter(|_| !is_other) else { return };
        let (line, paid) = rest(row, told, self.refunded, records, &event.place());
        records.extend(line);
        if row.confirmed_id == UNTOLD && told.most <= paid {
            row.confirmed_id = WAS_SOLD.to_owned();
        }
    }
}

impl Row {
    /// Nobody tells how many units were paid.
    pub(super) fn is_told_by_nobody(&mut self) {
        if self.confirmed_id == WAS_SOLD && self.known.reference.is_some() {
            self.confirmed_id = UNTOLD.to_owned();
        }
    }

    /// A row that is known to have been sold after a hold says so, also if no entry of its
    /// confirmation was read.
    pub(super) fn is_confirmed_somehow(&mut self) {
        let is_held_first = self.deadline_ms.is_some() || self.is_note();
        if self.known.was_sold == Some(true) && is_held_first && self.confirmed_id.is_empty() {
            self.confirmed_id = WAS_SOLD.to_owned();
        }
    }
}

/// The line for units that were paid and are neither kept nor on lines, if there are any; and all
/// units that are known to be paid then. `refunded` units are on lines that are written.
pub fn rest(
    row: &Row,
    told: Paid,
    refunded: i64,
    records: &[Record],
    entry: &str,
) -> (Option<Record>, i64) {
    let its = records.iter().filter(|one| one.key == row.key && one.is_refund_of(row));
    let refunded = refunded.saturating_add(its.map(|one| one.units).sum());
    let counted = row.live_units().saturating_add(refunded);
    let due = told.least.saturating_sub(counted);
    let line = (due > 0).then(|| Record {
        key: row.key.clone(),
        entry: format!("{entry} paid {}", told.least),
        from: State::Sold.word(),
        to: "reduced".to_owned(),
        units: due,
        reference: row.known.reference.clone(),
        said: String::new(),
    });
    (line, counted.max(told.least))
}

impl Record {
    /// It is about a payment that changed no order.
    pub fn is_of_payment(&self) -> bool {
        let is_one = ["late", "second", "unknown"].contains(&&*self.to);
        is_one && self.reference.as_ref().is_some_and(|reference| !reference.is_empty())
    }

    /// It refunds such a payment.
    pub fn refunds_whole(&self) -> bool {
        self.is_of_payment() && self.to != "unknown"
    }

    /// It refunds all units that an order has left.
    pub fn ends_paid(&self) -> bool {
        self.reference.is_some() && is_release(&self.to) && self.to != "reduced"
    }
}

impl Plan {
    /// The release of these orders refunds nothing.
    pub fn withhold(&mut self, keys: &BTreeSet<OrderKey>) {
        let is_its = |record: &&mut Record| record.ends_paid() && keys.contains(&record.key);
        self.records.iter_mut().filter(is_its).for_each(|record| record.reference = None);
        for step in self.steps.iter_mut().filter(|step| step.change == Change::Released) {
            if keys.contains(&step.row.key) {
                step.row.known.reference = None;
            }
        }
    }
}
