//! Makes decisions true, and counts them.

use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::metrics;
use crate::typed::{OrderId, User};
use domain::book::Reason;
use domain::facts::Facts;
use domain::orders::{self, Request};
use domain::payments::Outcome as Paid;
use domain::plan::{Amend, Append, Decision, Order, Plan, SalePlan};
use domain::rules::{Meant, SaleId};
use domain::sale::Outcome;
use domain::tries::{self, Answer, Else};
use domain::waitlist::{self, ENDED_MAX, Next};

/// A request about an order, of the sale that `[SALE id]` names.
pub(super) fn request<'a>(
    user: User<'a>,
    id: OrderId<'a>,
    sale: Option<SaleId>,
) -> Request<Name<'a>> {
    let (user, id) = (Name::Given(user.0), Name::Given(id.0));
    Request { user, id, sale: Meant::by_request(sale) }
}

/// Applies a plan, and then serves the line: the one place where units that return, and places that
/// are left, are noticed.
#[inline]
pub(super) fn apply<'a>(sale: &Sale<'a>, plan: &Plan<Name<'a>>) -> Result<Applied, CommandError> {
    let applied = write(sale, plan)?;
    if plan.moves_line() {
        serve_some(sale, false);
    }
    Ok(applied)
}

/// Writes what is decided about the sale as a whole, and then serves the line.
pub(super) fn apply_to_all(
    sale: &Sale<'_>,
    plan: &SalePlan<Name<'_>>,
) -> Result<bool, CommandError> {
    let is_deleted = sale.apply_to_all(plan)?;
    if plan.moves_line() {
        serve_some(sale, true);
    }
    Ok(is_deleted)
}

/// Serves the line as far as one command may. What is refused is left to the timer, as is the rest,
/// and the time of the next look if the rules are others.
#[cold]
fn serve_some(sale: &Sale<'_>, has_other_rules: bool) {
    let is_done = match serve(sale) {
        Ok(Next::Nobody) => true,
        Ok(Next::Later(_)) => !has_other_rules,
        _ => false,
    };
    if !is_done && let (Some(memory), Some((db, line))) = (Memory::current(), sale.line_name()) {
        memory.holds.mark(db, line.bytes());
    }
}

/// Serves the line, at most so many orders that a command may. Says what is to be done next.
pub(crate) fn serve<'a>(sale: &Sale<'a>) -> Result<Next<Name<'a>>, CommandError> {
    loop {
        let next = waitlist::next(sale).inspect_err(|_| sale.close())?;
        if matches!(next, Next::Nobody | Next::Later(_)) || !sale.may_serve() {
            sale.close();
            return Ok(next);
        }
        serve_one(sale, next)?;
    }
}

fn serve_one<'a>(sale: &Sale<'a>, next: Next<Name<'a>>) -> Result<(), CommandError> {
    let is_stray = matches!(next, Next::Stray(_));
    let plan = waitlist::serve(sale, next).inspect_err(|_| sale.close())?;
    if let Some(plan) = plan {
        write(sale, &plan).inspect_err(|_| sale.close())?;
    }
    if is_stray && Memory::current().is_some_and(|it| it.holds.may_complain(sale.now())) {
        sale.warn_of_stray();
    }
    Ok(())
}

/// Releases all orders that have waited until the sale ended, before its end is changed. Refused
/// where these are too many for one command: the timer has them.
pub(super) fn end_waits(sale: &Sale<'_>) -> Result<(), CommandError> {
    let waiting = sale.line().inspect_err(|_| sale.close())?.waiting;
    if waiting > ENDED_MAX as u64 {
        sale.close();
        return Err(CommandError::EndingWaits);
    }
    for _ in 0..waiting {
        let next = waitlist::next(sale).inspect_err(|_| sale.close())?;
        if !matches!(next, Next::End(_) | Next::Stray(_)) {
            break;
        }
        serve_one(sale, next)?;
    }
    sale.close();
    Ok(())
}

/// Applies a plan, and counts what came of it.
#[inline]
fn write<'a>(sale: &Sale<'a>, plan: &Plan<Name<'a>>) -> Result<Applied, CommandError> {
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
    sale: &Sale<'a>,
    decision: Decision<A, Name<'a>>,
) -> Result<A, CommandError> {
    match decision {
        Decision::Answer(answer) => Ok(answer),
        Decision::Do(answer, plan) => apply(sale, &plan).map(|_| answer),
        // Only tries settle first.
        Decision::Settle(_) => Err(CommandError::Garbled),
    }
}

/// Tries once, for the sale that is meant.
#[inline]
pub(super) fn try_once<'a>(
    sale: &Sale<'a>,
    meant: Meant,
    order: &Order<Name<'a>>,
    or_else: Else,
) -> Result<Outcome, CommandError> {
    // Most tries lose: what they don't need is kept out of their way.
    match tries::decide_for(sale, meant, order, or_else, false) {
        Ok(Decision::Answer(answer)) => Ok(counted(answer)),
        Ok(Decision::Do(answer, ref plan)) => carry_out(sale, answer, plan),
        Ok(Decision::Settle(ref ids)) => try_settled(sale, meant, order, or_else, ids),
        Err(error) => Err(error),
    }
}

#[cold]
fn try_settled<'a>(
    sale: &Sale<'a>,
    meant: Meant,
    order: &Order<Name<'a>>,
    or_else: Else,
    ids: &[Name<'a>],
) -> Result<Outcome, CommandError> {
    let settled = settle(sale, ids);
    match tries::decide_for(sale, meant, order, or_else, true)? {
        Decision::Do(answer, ref plan) => carry_out(sale, answer, plan),
        Decision::Answer(answer) => {
            if settled == 0 && answer.outcome == Outcome::SoldOut {
                sale.rest_from_due();
            }
            Ok(counted(answer))
        }
        // A settled try does not settle again.
        Decision::Settle(_) => Ok(counted(Outcome::SoldOut.into())),
    }
}

#[inline(never)]
fn carry_out<'a>(
    sale: &Sale<'a>,
    answer: Answer,
    plan: &Plan<Name<'a>>,
) -> Result<Outcome, CommandError> {
    match apply(sale, plan)? {
        Applied::HasBought => Ok(counted(Outcome::AtLimit.into())),
        Applied::All | Applied::First(..) => Ok(counted(answer)),
    }
}

/// Counts the answer to a try.
#[inline]
pub(super) fn counted(answer: Answer) -> Outcome {
    let Answer { outcome, is_repeat } = answer;
    match outcome {
        _ if is_repeat => metrics::TRIES_REPEATED.count(),
        Outcome::Accepted => metrics::TRIES_ACCEPTED.count(),
        Outcome::SoldOut => metrics::TRIES_SOLD_OUT.count(),
        Outcome::AtLimit => metrics::TRIES_AT_LIMIT.count(),
        Outcome::NotStarted => metrics::TRIES_NOT_STARTED.count(),
        Outcome::Ended => metrics::TRIES_ENDED.count(),
        Outcome::Waiting => metrics::TRIES_WAITING.count(),
        // Only a repeat is answered so.
        Outcome::Released => {}
    }
    outcome
}

/// Releases overdue orders, as far as possible, and returns how many. What can't be released stays,
/// and the timer logs why.
pub(super) fn settle<'a>(sale: &Sale<'a>, ids: &[Name<'a>]) -> usize {
    ids.iter().filter(|id| end_hold(sale, id, Reason::Expired).is_ok()).count()
}

/// Releases an order among the holds.
pub(crate) fn end_hold<'a>(
    sale: &Sale<'a>,
    id: &Name<'a>,
    reason: Reason,
) -> Result<(), CommandError> {
    let plan = orders::end_hold(sale, id, reason).inspect_err(|_| sale.close())?;
    apply(sale, &plan).map(|_| ())
}

/// Is the voucher managed?
pub(super) fn is_managed(sale: &Sale<'_>) -> Result<bool, CommandError> {
    Ok(sale.rules()?.is_some())
}
