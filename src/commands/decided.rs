//! Makes decisions true, and counts what came of them.

use super::line::serve_some;
use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::metrics;
use domain::book::Reason;
use domain::orders;
use domain::payments::Outcome as Paid;
use domain::plan::{Amend, Append, Decision, Plan, SalePlan};

/// Applies a plan, and then serves the line: the one place where units that return, and places that
/// are left, are noticed.
#[inline]
pub(super) fn apply<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    plan: &Plan<Name<'a>>,
) -> Result<Applied, CommandError> {
    let applied = write(sale, plan)?;
    if plan.moves_line() {
        serve_some(memory, sale, false);
    }
    Ok(applied)
}

/// Writes what is decided about the sale as a whole, and then serves the line.
pub(super) fn apply_to_all(
    memory: &Memory,
    sale: &Sale<'_>,
    plan: &SalePlan<Name<'_>>,
) -> Result<bool, CommandError> {
    let is_deleted = sale.apply_to_all(plan)?;
    if plan.moves_line() {
        serve_some(memory, sale, true);
    }
    Ok(is_deleted)
}

/// Applies a plan, and counts what came of it.
#[inline]
pub(super) fn write<'a>(sale: &Sale<'a>, plan: &Plan<Name<'a>>) -> Result<Applied, CommandError> {
    let applied = sale.apply(plan)?;
    match plan {
        Plan::Serve(..) => metrics::ORDERS_SERVED.count(),
        Plan::Amend(amend) => amend.appends.all().iter().for_each(|it| count(*it, amend)),
        // Answers to tries are counted.
        Plan::Take(_) | Plan::Repeat(_) => {}
        Plan::DeadLetter(_) | Plan::StrayHold(_) | Plan::StrayPlace(_) => {}
    }
    Ok(applied)
}

fn count(append: Append, plan: &Amend<Name<'_>>) {
    match append {
        Append::Confirmation => metrics::ORDERS_CONFIRMED.count(),
        // The first payment of an order that was sold at once confirms nothing.
        Append::Payment(Paid::First) if plan.hold.is_none() => {}
        Append::Payment(Paid::First) => metrics::ORDERS_CONFIRMED.count(),
        Append::Payment(_) => metrics::PAYMENTS_TO_REFUND.count(),
        Append::Release { kept: Some(_), .. } | Append::DeadLetter { .. } => {}
        Append::Release { reason, .. } => match reason {
            Reason::Cancelled => metrics::ORDERS_CANCELLED.count(),
            Reason::Expired => metrics::ORDERS_EXPIRED.count(),
            Reason::Rejected => metrics::ORDERS_REJECTED.count(),
        },
    }
}

/// Makes the decision about an order true: its answer.
pub(super) fn done<'a, A>(
    memory: &Memory,
    sale: &Sale<'a>,
    decision: Decision<A, Name<'a>>,
) -> Result<A, CommandError> {
    match decision {
        Decision::Answer(answer) => Ok(answer),
        Decision::Do(answer, plan) => apply(memory, sale, &plan).map(|_| answer),
        // Only tries settle first.
        Decision::Settle(_) => Err(CommandError::Garbled),
    }
}

/// Releases an order among the holds.
pub(crate) fn end_hold<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    id: &Name<'a>,
    reason: Reason,
) -> Result<(), CommandError> {
    let plan = orders::end_hold(sale, id, reason).inspect_err(|_| sale.close())?;
    apply(memory, sale, &plan).map(|_| ())
}
