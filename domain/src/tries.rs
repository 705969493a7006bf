//! Decides tries.

use crate::book::{Entry, Has, State, UserUnits};
use crate::facts::{Facts, Refusal, Stream};
use crate::orders::expire;
use crate::plan::{Admission, Change, Decision, Order, Plan, Recorded, Take};
use crate::rules::{Meant, Rules, Window};
use crate::sale::{NoStock, Offer, Stock, TryOutcome, Units, offer};
use crate::selling::{offered, take};
use crate::waitlist::join;

/// How many overdue orders a try expires before it is answered that it lost. Bounds its time; the
/// timer releases the rest.
pub const EXPIRED_MAX: usize = 100;

/// What becomes of a try that finds too few units, or orders that wait for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Else {
    /// It is answered that it lost.
    Lose,
    /// Its order waits in the queue.
    Wait,
}

/// What a try asks for, beside its units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wish {
    pub or_else: Else,
    /// The most units that its user may then have; the rules may allow fewer.
    pub limit: Option<Units>,
}

impl Wish {
    /// Nothing else.
    pub const PLAIN: Self = Self { or_else: Else::Lose, limit: None };

    /// Only a managed voucher has it.
    fn needs_rules(self) -> bool {
        self != Self::PLAIN
    }
}

/// The answer to a try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TryAnswer {
    pub outcome: TryOutcome,
    /// The order id was in the book already.
    pub is_repeat: bool,
}

impl From<TryOutcome> for TryAnswer {
    fn from(outcome: TryOutcome) -> Self {
        Self { outcome, is_repeat: false }
    }
}

type Decided<F> = Result<Decision<TryAnswer, <F as Facts>::Name>, <F as Facts>::Error>;

fn answer<N>(outcome: TryOutcome) -> Decision<TryAnswer, N> {
    Decision::Answer(outcome.into())
}

/// Decides a try that names the sale that it is for: any other is over, and so is one that was
/// dropped. `expired` as for [`decide`].
#[inline(always)]
pub fn decide_for<F: Facts>(
    facts: &F,
    sale: Meant,
    order: &Order<F::Name>,
    wish: Wish,
    expired: bool,
) -> Decided<F> {
    if sale == Meant::Any || sale.is(facts.rules()?.map(|rules| rules.sale)) {
        decide(facts, order, wish, expired)
    } else {
        Ok(answer(TryOutcome::Ended))
    }
}

/// Decides a try. `expired` if overdue orders were released for it already.
#[inline(always)]
pub fn decide<F: Facts>(
    facts: &F,
    order: &Order<F::Name>,
    wish: Wish,
    expired: bool,
) -> Decided<F> {
    match facts.rules() {
        Ok(None) if wish.needs_rules() => Err(Refusal::NotManaged.into()),
        Ok(None) => unmanaged(facts, order),
        Ok(Some(rules)) => managed(facts, &rules, order, wish, expired),
        Err(error) => Err(error),
    }
}

/// A try on a voucher that has only a stock: what the script decides, in its order.
#[inline(always)]
pub fn unmanaged<F: Facts>(facts: &F, order: &Order<F::Name>) -> Decided<F> {
    let stock = facts.stock()?;
    match offer(stock, order.units, facts.policy()) {
        Err(NoStock) => Err(Refusal::NoVoucher.into()),
        Ok(Offer::SoldOut) => Ok(answer(TryOutcome::SoldOut)),
        Ok(Offer::Unlimited) => unmanaged_sale(facts, order, None),
        Ok(Offer::Take { left }) => {
            let before = left.saturating_add(order.units.get());
            unmanaged_sale(facts, order, Some(Change { before, after: left }))
        }
    }
}

#[inline(never)]
fn unmanaged_sale<F: Facts>(
    facts: &F,
    order: &Order<F::Name>,
    stock: Option<Change>,
) -> Decided<F> {
    let known = facts.known_buyer(&order.user)?;
    if known == Some(true) {
        return Ok(answer(TryOutcome::AtLimit));
    }
    if let Err(error) = facts.room(Stream::Orders) {
        // A user who has bought is answered so first, as by the script.
        let has_bought = known.is_none() && facts.is_buyer(&order.user)?;
        return if has_bought { Ok(answer(TryOutcome::AtLimit)) } else { Err(error) };
    }
    let admit = if known.is_some() { Admission::Add } else { Admission::Ask };
    let take = Take { order: order.clone(), admit: Some(admit), stock, booked: None };
    Ok(Decision::Do(TryOutcome::Accepted.into(), Plan::Take(take)))
}

/// Outcomes by precedence: a known order id, the window, the limit, the stock, the queue.
#[inline(never)]
pub(crate) fn managed<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: &Order<F::Name>,
    wish: Wish,
    expired: bool,
) -> Decided<F> {
    let Wish { or_else, limit } = wish;
    if or_else == Else::Wait && rules.hold.is_none() {
        return Err(Refusal::NoHold.into());
    }
    if let Some(entry) = facts.entry(&order.id)? {
        return repeat(facts, rules, order, &entry);
    }
    match rules.window(facts.now()) {
        Window::NotStarted => return Ok(answer(TryOutcome::NotStarted)),
        Window::Ended => return Ok(answer(TryOutcome::Ended)),
        Window::Open => {}
    }
    let has = facts.units_of(&order.user)?;
    if !rules.allows(has.units, order.units, limit) {
        let ids = if expired { Vec::new() } else { overdue_of(facts, &order.user)? };
        return Ok(if ids.is_empty() {
            answer(TryOutcome::AtLimit)
        } else {
            Decision::ExpireFirst(ids)
        });
    }
    let left = match facts.stock()? {
        Stock::Missing if facts.policy().missing_is_sold_out => 0,
        Stock::Missing => return Err(Refusal::NoVoucher.into()),
        Stock::Left(left) => left,
    };
    let Some(stock) = offered(facts, rules, left, order.units)? else {
        // Holds may be due. If they can't be released, the timer logs why.
        facts.sees_holds()?;
        let due = if expired { None } else { facts.due(EXPIRED_MAX)? };
        let Some(due) = due else { return lose(facts, rules, order, or_else, has) };
        return Ok(Decision::ExpireFirst(due.iter().map(|due| due.id.clone()).collect()));
    };
    // Only orders with reservations wait.
    if rules.hold.is_some() && facts.is_waited_for()? {
        return lose(facts, rules, order, or_else, has);
    }
    let Order { user: _, id, units } = order.clone();
    // Both fit: the limit, which bounds the sum, is an i64.
    let all = Units::new(has.units.saturating_add(units.get())).unwrap_or(units);
    let units = UserUnits { units: all, waiting: has.waiting, latest: id };
    let take = take(facts, rules, order.clone(), stock, has, units, false)?;
    Ok(Decision::Do(TryOutcome::Accepted.into(), Plan::Take(take)))
}

/// There are no units for the order.
#[inline(always)]
fn lose<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: &Order<F::Name>,
    or_else: Else,
    has: Has,
) -> Decided<F> {
    match or_else {
        Else::Lose => Ok(answer(TryOutcome::SoldOut)),
        Else::Wait => wait(facts, rules, order, has),
    }
}

/// Apart from trying and losing, which most tries do: these must not move a plan.
#[inline(never)]
fn wait<F: Facts>(facts: &F, rules: &Rules, order: &Order<F::Name>, has: Has) -> Decided<F> {
    Ok(match join(facts, rules, order, has)? {
        Some(plan) => Decision::Do(TryOutcome::Waiting.into(), plan),
        None => answer(TryOutcome::SoldOut),
    })
}

/// Answers a try whose order id is in the book. The units of a released order don't matter: its id
/// never sells again.
fn repeat<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: &Order<F::Name>,
    entry: &Entry<F::Name>,
) -> Decided<F> {
    if entry.user != order.user {
        return Err(Refusal::OrderId.into());
    }
    let again = |outcome| TryAnswer { outcome, is_repeat: true };
    if let Some(plan) = expire(facts, rules, &order.id, entry)? {
        return Ok(Decision::Do(again(TryOutcome::Released), plan.into()));
    }
    let outcome = match entry.state {
        State::Released(_) => TryOutcome::Released,
        _ if entry.asked != order.units => return Err(Refusal::OrderId.into()),
        State::Waiting => TryOutcome::Waiting,
        State::Held | State::Sold => TryOutcome::Accepted,
    };
    Ok(Decision::Do(again(outcome), Plan::Repeat(Recorded::Order(order.id.clone()))))
}

/// The orders to be expired for a user who seems to have too many units, if one of them is theirs:
/// their latest, and those that are due first. All of these, since the stock may lack units, too.
fn overdue_of<F: Facts>(facts: &F, user: &F::Name) -> Result<Vec<F::Name>, F::Error> {
    let Some(due) = facts.due(EXPIRED_MAX)? else { return Ok(Vec::new()) };
    let Some(UserUnits { latest, .. }) = facts.user_units(user)? else { return Ok(Vec::new()) };
    let entry = facts.entry(&latest)?;
    let is_overdue =
        entry.is_some_and(|entry| entry.user == *user && entry.is_overdue(facts.now()));
    if !is_overdue && !due.iter().any(|due| due.user.as_ref() == Some(user)) {
        return Ok(Vec::new());
    }
    facts.sees_holds()?;
    let others = due.iter().filter(|due| due.id != latest).map(|due| due.id.clone());
    Ok(is_overdue.then(|| latest.clone()).into_iter().chain(others).collect())
}
