//! Decides about the queue of orders that wait: who joins it, who is promoted, whose wait is over.
//!
//! Units that return are for the first in the queue, and nobody overtakes, not even with a smaller
//! order. After each plan that returns units, makes the queue shorter or changes the rules, and by
//! the timer, [`next`] and [`promote`] decide one order after the other.

use crate::book::{Entry, Has, Reason, State, UserUnits};
use crate::facts::{Facts, First, Needed, Refusal, check_there, managed};
use crate::plan::{Amend, Change, Left, Order, Place, Plan, more_beyond_one};
use crate::rules::{Millis, Rules, Window};
use crate::sale::{Stock, Units};
use crate::selling::{offered, take};

/// How many orders of a queue one command, or one step of the timer, decides. Bounds its time.
pub const PROMOTED_MAX: usize = 25;

/// How many orders whose wait has ended a change of that end records first. If there are more, it
/// is refused and changes nothing.
pub const ENDED_MAX: usize = 100;

/// What is to be done about the first in the queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next<N> {
    /// Nobody waits.
    Nobody,
    /// Nothing before this moment, unless units return, the queue gets shorter or rules change.
    Later(Millis),
    /// There are units for it.
    Promote { first: Waiter<N>, stock: Change },
    /// The sale has ended.
    End(Waiter<N>),
    /// Its entry is not that of an order that waits, or can't be read: somebody edited the keys.
    Stray(N),
}

/// An order that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter<N> {
    rules: Rules,
    id: N,
    entry: Entry<N>,
    has: Option<UserUnits<N>>,
}

/// Looks at the first in the queue.
pub fn next<F: Facts>(facts: &F) -> Result<Next<F::Name>, F::Error> {
    let rules = managed(facts)?;
    let Some(First { id, order }) = facts.first_waiting()? else { return Ok(Next::Nobody) };
    let Some((entry, has)) = order.filter(|(entry, _)| entry.state == State::Waiting) else {
        return Ok(Next::Stray(id));
    };
    let first = Waiter { rules, id, entry, has };
    match rules.window(facts.now()) {
        Window::Ended => return Ok(Next::End(first)),
        Window::NotStarted => return Ok(Next::Later(rules.begin.unwrap_or(Millis::MAX))),
        Window::Open => {}
    }
    let left = match facts.stock()? {
        Stock::Left(left) => left,
        Stock::Missing => 0,
    };
    Ok(match offered(facts, &rules, left, first.entry.units)? {
        Some(stock) => Next::Promote { first, stock },
        None => Next::Later(rules.end.unwrap_or(Millis::MAX)),
    })
}

/// The plan for the first in the queue; none if there is nothing to be done now.
pub fn promote<F: Facts>(
    facts: &F,
    next: Next<F::Name>,
) -> Result<Option<Plan<F::Name>>, F::Error> {
    match next {
        Next::Nobody | Next::Later(_) => Ok(None),
        Next::End(first) => first.leave(facts, Reason::Expired).map(|it| Some(it.into())),
        Next::Promote { first, stock } => first.get(facts, stock).map(Some),
        Next::Stray(id) => {
            check_there(facts, [Needed::Book])?;
            facts.queue_writable()?;
            Ok(Some(Plan::StrayPlace(id)))
        }
    }
}

/// Puts an order in the queue whose user has these units, behind the last one; None if the queue is
/// full. An order of more units than there are would keep all others from being promoted: neither
/// that.
pub(crate) fn join<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: &Order<F::Name>,
    has: Has,
) -> Result<Option<Plan<F::Name>>, F::Error> {
    let queue = facts.queue()?;
    if queue.waiting >= queue.most || order.units.get() > rules.total {
        return Ok(None);
    }
    let Order { user, id, units } = order.clone();
    // The limit, which bounds the sum, is an i64.
    let all = Units::new(has.units.saturating_add(units.get())).unwrap_or(units);
    let waiting = has.waiting.saturating_add(units.get());
    let left = UserUnits { units: all, waiting, latest: id };
    let beyond_one = more_beyond_one(has, Some(&left), 1);
    facts.writable(beyond_one != 0)?;
    facts.queue_writable()?;
    let ticket = queue.next().ok_or(Refusal::Garbled)?;
    Ok(Some(Plan::Amend(Amend {
        entry: Some(Entry::made(State::Waiting, units, facts.now(), user)),
        units: Some(Left::Units(left)),
        beyond_one,
        place: Some(Place::Join(ticket)),
        ..Amend::about(order.clone(), Some(rules.sale))
    })))
}

/// Takes an order out of the queue. It has no units and no entry in a stream, so none says this.
pub(crate) fn leave<F: Facts>(
    facts: &F,
    rules: &Rules,
    id: &F::Name,
    entry: &Entry<F::Name>,
    reason: Reason,
) -> Result<Amend<F::Name>, F::Error> {
    let has = facts.user_units(&entry.user)?;
    Waiter { rules: *rules, id: id.clone(), entry: entry.clone(), has }.leave(facts, reason)
}

impl<N: Clone> Waiter<N> {
    fn leave<F: Facts<Name = N>>(self, facts: &F, reason: Reason) -> Result<Amend<N>, F::Error> {
        let Self { rules, id, entry, has } = self;
        check_there(facts, [Needed::Units])?;
        let left = has.as_ref().and_then(|has| has.without(entry.units, true));
        let had = has.as_ref().map_or(Has::default(), UserUnits::has);
        let beyond_one = more_beyond_one(had, left.as_ref(), -1);
        facts.writable(beyond_one != 0)?;
        facts.queue_writable()?;
        let order = Order { user: entry.user.clone(), id, units: entry.units };
        let plan = Amend {
            // Without units on record, none are written.
            units: has.map(|_| left.into()),
            beyond_one,
            entry: Some(entry.clone().released(reason)),
            place: Some(Place::Leave),
            ..Amend::about(order, Some(rules.sale))
        };
        debug_assert!(plan.makes_no_units(&entry));
        Ok(plan)
    }

    fn get<F: Facts<Name = N>>(self, facts: &F, stock: Change) -> Result<Plan<N>, F::Error> {
        let Self { rules, id, entry, has } = self;
        facts.releasable()?;
        check_there(facts, [Needed::Units])?;
        facts.queue_writable()?;
        let units = entry.units;
        let had = has.as_ref().map_or(Has::default(), UserUnits::has);
        let has = match has {
            Some(has) => {
                UserUnits { waiting: has.waiting.saturating_sub(units.get()).max(0), ..has }
            }
            None => UserUnits { units, waiting: 0, latest: id.clone() },
        };
        let waited = facts.now().saturating_sub(entry.deadline).max(0);
        let order = Order { user: entry.user, id, units };
        Ok(Plan::Promote(take(facts, &rules, order, stock, had, has, true)?, waited))
    }
}
