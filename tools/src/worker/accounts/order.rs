//! An order's account, with what its row has beside, and the steps of the shop's own tables.

use domain::account::Account;
use domain::book::{Reason, State};
use domain::conflicts::Conflicts;
use domain::entry_id::EntryId;
use domain::rows::{Phase, Report, Row, Times, Unmanaged};
use domain::unit_set::UnitSet;

use super::RowOutcome;
use crate::order_events::{Event, OrderKey, Which};
use crate::steps::{Change, Step};

/// An order's account, with what its row has beside.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Order {
    pub account: Account<String, EntryId>,
    /// What is known of an order of an unmanaged voucher; its row follows from this.
    pub unmanaged: Option<Unmanaged<EntryId>>,
    /// Why it was released, of all reasons that entries say.
    pub reason: Option<Reason>,
    /// The latest that any entry says.
    pub deadline_ms: Option<i64>,
    /// When its row was made, unix milliseconds; 0 of one that has none yet.
    pub created_ms: i64,
    /// The units in its row, and whether a conflict is: what an order says now may be something
    /// else since another order has its payment, or has it no more.
    pub row_units: i64,
    pub has_conflict: bool,
}

/// What a reader of the table sees of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// None of an order of which only payments are known.
    pub state: Option<State>,
    /// The units that it has.
    pub units: i64,
    /// The payment that it is kept with.
    pub reference: Option<String>,
    /// What no ruling has answered.
    pub conflicts: Conflicts,
}

impl Order {
    pub fn new(key: &OrderKey) -> Self {
        Self { unmanaged: (!key.is_managed()).then(Unmanaged::default), ..Self::default() }
    }

    /// Joins what an entry says of it.
    pub(super) fn read(&mut self, event: &Event, is_known: bool) -> RowOutcome {
        let (id, report) = (event.place.1, &event.report);
        self.deadline_ms = self.deadline_ms.max(event.deadline_ms);
        self.join_reason(event.reason);
        let was_accepted = self.account.row.accepted != Times::Never;
        match (&mut self.unmanaged, report) {
            (Some(known), Report::Accepted { units, .. }) => {
                known.accept(id, *units);
                self.follow_unmanaged();
            }
            (Some(known), Report::Released(release)) => {
                known.release(id, event.rejects, release.units);
                self.follow_unmanaged();
            }
            _ if is_known => self.account.join(Some(id), report),
            _ => self.account.read(Some(id), report),
        }
        match report {
            Report::Accepted { .. } if was_accepted => RowOutcome::Repeated,
            Report::Accepted { .. } => RowOutcome::Inserted,
            Report::Released(_) => RowOutcome::Released,
            Report::Confirmed { .. } | Report::Payment { .. } => RowOutcome::Confirmed,
        }
    }

    /// Whether an entry of an unmanaged voucher is known here.
    pub fn has_entry(&self, event: &Event) -> bool {
        let (which, id) = event.place;
        self.unmanaged.as_ref().is_some_and(|known| match which {
            Which::Orders => known.accepted().any(|other| *other == id),
            Which::Released => known.released().any(|other| *other == id),
            Which::Confirmed => true,
        })
    }

    /// The row of an order of an unmanaged voucher: sold at once while it lives.
    pub fn follow_unmanaged(&mut self) {
        let Some(known) = &self.unmanaged else { return };
        let (first, is_live) = (known.accepted().next(), known.is_live());
        let is_known = first.is_some() || known.released().next().is_some();
        self.account.row = Row {
            asked: known.units,
            sold: if is_known { known.units } else { 0 },
            sold_to: (is_known && !is_live).then_some(0),
            accepted: first.map_or(Times::Never, |id| Times::Once(*id)),
            is_at_once: true,
            ..Row::default()
        };
    }

    /// Only a held order expires, so another reason says more; a rejection says most.
    pub fn join_reason(&mut self, reason: Option<Reason>) {
        let rank = |reason: &Option<Reason>| match reason {
            None => 0,
            Some(Reason::Expired) => 1,
            Some(Reason::Cancelled) => 2,
            Some(Reason::Rejected) => 3,
        };
        self.reason = std::cmp::max_by_key(self.reason, reason, rank);
    }

    fn state(&self, phase: Phase) -> State {
        match phase {
            Phase::Held => State::Held,
            Phase::Sold => State::Sold,
            Phase::Released | Phase::ReleasedSold => {
                State::Released(self.reason.unwrap_or(Reason::Cancelled))
            }
        }
    }

    /// What a reader sees.
    pub fn view(&self, conflicts: Conflicts) -> View {
        let (phase, units) = self.account.target(conflicts);
        let is_answered = self.account.standing(conflicts).is_some();
        View {
            state: self.account.row.is_known().then(|| self.state(phase)),
            units,
            reference: self.account.kept(conflicts).1.cloned(),
            conflicts: if is_answered { Conflicts::NONE } else { conflicts },
        }
    }
}

impl Order {
    /// The steps that bring the shop's tables to what they should have, noted as taken.
    pub fn steps(&mut self, key: &OrderKey, conflicts: Conflicts) -> Vec<Step> {
        let taken = self.account.step(conflicts);
        let reference = self.account.kept(conflicts).1;
        let reference = reference.or_else(|| self.account.paying().next());
        let step = |step: domain::account::Step| {
            let is_release = matches!(step.event, Change::Reduced | Change::Released);
            let is_paid = (if is_release { step.old } else { Some(step.new) }) == Some(Phase::Sold);
            let given = reference.filter(|reference| {
                let had = step.kept.saturating_add(step.units);
                let gone = UnitSet::between(step.kept.saturating_add(1), had);
                is_paid && !(is_release && self.is_refunded_elsewhere(reference, &gone))
            });
            Step {
                change: step.event,
                old: step.old.map(|phase| self.state(phase)),
                new: self.state(step.new),
                units: step.units,
                kept: step.kept,
                reference: given.cloned(),
                key: key.clone(),
                deadline_ms: self.deadline_ms,
            }
        };
        taken.into_iter().map(step).collect()
    }

    /// All of these units were refunded elsewhere, so that nothing is to be refunded for them.
    fn is_refunded_elsewhere(&self, reference: &str, units: &UnitSet) -> bool {
        let payment = self.account.payments.get(reference);
        payment.is_some_and(|payment| {
            units.without(&payment.refunded_elsewhere()).is_empty()
                && payment.lines.common(units).is_empty()
        })
    }
}
