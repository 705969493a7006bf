//! Writes plans, and counts what came of them.

use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::metrics;
use domain::book::Reason;
use domain::payments::Outcome as Paid;
use domain::plan::{Amend, Append, Plan};

/// Applies a plan, and counts what came of it.
#[inline]
pub(super) fn write<'a>(sale: &Sale<'a>, plan: &Plan<Name<'a>>) -> Result<Applied, CommandError> {
    let applied = sale.apply(plan)?;
    match plan {
        Plan::Promote(..) => metrics::ORDERS_PROMOTED.count(),
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
