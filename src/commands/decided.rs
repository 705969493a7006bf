//! Makes decisions true, and then promotes who waits.

use super::queue::promote_some;
use super::written::write;
use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use domain::book::Reason;
use domain::orders;
use domain::plan::{Decision, Plan, SalePlan};

/// Applies a plan, and then promotes who waits: the one place where units that return, and places
/// that are left, are noticed.
#[inline]
pub(super) fn apply<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    plan: &Plan<Name<'a>>,
) -> Result<Applied, CommandError> {
    let applied = write(sale, plan)?;
    if plan.moves_queue() {
        promote_some(memory, sale, false);
    }
    Ok(applied)
}

/// Writes what is decided about the sale as a whole, and then promotes who waits.
pub(super) fn apply_to_all(
    memory: &Memory,
    sale: &Sale<'_>,
    plan: &SalePlan<Name<'_>>,
) -> Result<bool, CommandError> {
    let is_deleted = sale.apply_to_all(plan)?;
    if plan.moves_queue() {
        promote_some(memory, sale, true);
    }
    Ok(is_deleted)
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
        // Only tries expire first.
        Decision::ExpireFirst(_) => Err(CommandError::Garbled),
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
