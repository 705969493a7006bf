//! Tries, decided and counted: expired first where orders are overdue.

use super::decided::{apply, end_hold};
use crate::error::CommandError;
use crate::keyspace::apply::Applied;
use crate::keyspace::names::Name;
use crate::keyspace::sale::Sale;
use crate::memory::Memory;
use crate::metrics;
use domain::book::Reason;
use domain::plan::{Decision, Order, Plan};
use domain::rules::Meant;
use domain::sale::TryOutcome;
use domain::tries::{self, TryAnswer, Wish};

/// Tries once, for the sale that is meant.
#[inline]
pub(super) fn try_once<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    meant: Meant,
    order: &Order<Name<'a>>,
    wish: Wish,
) -> Result<TryOutcome, CommandError> {
    // Most tries lose: what they don't need is kept out of their way.
    match tries::decide_for(sale, meant, order, wish, false) {
        Ok(Decision::Answer(answer)) => Ok(counted(answer)),
        Ok(Decision::Do(answer, ref plan)) => carry_out(memory, sale, answer, plan),
        Ok(Decision::ExpireFirst(ref ids)) => try_expired(memory, sale, meant, order, wish, ids),
        Err(error) => Err(error),
    }
}

#[cold]
fn try_expired<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    meant: Meant,
    order: &Order<Name<'a>>,
    wish: Wish,
    ids: &[Name<'a>],
) -> Result<TryOutcome, CommandError> {
    let expired = expire(memory, sale, ids);
    match tries::decide_for(sale, meant, order, wish, true)? {
        Decision::Do(answer, ref plan) => carry_out(memory, sale, answer, plan),
        Decision::Answer(answer) => {
            if expired == 0 && answer.outcome == TryOutcome::SoldOut {
                sale.rest_from_due();
            }
            Ok(counted(answer))
        }
        // An expired try does not expire again.
        Decision::ExpireFirst(_) => Ok(counted(TryOutcome::SoldOut.into())),
    }
}

#[inline(never)]
fn carry_out<'a>(
    memory: &Memory,
    sale: &Sale<'a>,
    answer: TryAnswer,
    plan: &Plan<Name<'a>>,
) -> Result<TryOutcome, CommandError> {
    match apply(memory, sale, plan)? {
        Applied::HasBought => Ok(counted(TryOutcome::AtLimit.into())),
        Applied::All | Applied::First(..) => Ok(counted(answer)),
    }
}

/// Counts the answer to a try.
#[inline]
pub(super) fn counted(answer: TryAnswer) -> TryOutcome {
    let TryAnswer { outcome, is_repeat } = answer;
    match outcome {
        _ if is_repeat => metrics::TRIES_REPEATED.count(),
        TryOutcome::Accepted => metrics::TRIES_ACCEPTED.count(),
        TryOutcome::SoldOut => metrics::TRIES_SOLD_OUT.count(),
        TryOutcome::AtLimit => metrics::TRIES_AT_LIMIT.count(),
        TryOutcome::NotStarted => metrics::TRIES_NOT_STARTED.count(),
        TryOutcome::Ended => metrics::TRIES_ENDED.count(),
        TryOutcome::Waiting => metrics::TRIES_WAITING.count(),
        // Only a repeat is answered so.
        TryOutcome::Released => {}
    }
    outcome
}

/// Releases overdue orders, as far as possible, and returns how many. What can't be released stays,
/// and the timer logs why.
pub(super) fn expire<'a>(memory: &Memory, sale: &Sale<'a>, ids: &[Name<'a>]) -> usize {
    ids.iter().filter(|id| end_hold(memory, sale, id, Reason::Expired).is_ok()).count()
}
