//! Decides what becomes of orders that are made, but for their confirmation: release.

use crate::book::{Entry, Has, Reason, Span, State, UserUnits};
use crate::facts::{Facts, Needed, Refusal, Stream, check_there, managed};
use crate::payments::{Outcome, Payment};
use crate::plan::{
    Amend, Append, Appends, Change, Decision, Hold, NamedPayment, Order, Plan, Recorded,
    more_beyond_one,
};
use crate::rejection::Fate;
use crate::rules::{Meant, Rules};
use crate::sale::{Stock, Units};
use crate::waitlist::leave;

/// The answer to a cancellation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancellation {
    NoSuchOrder = 0,
    Released = 1,
    WasReleased = 2,
    InAnotherState = 3,
}

/// Whom a request is about.
#[derive(Clone, Debug)]
pub struct OrderRequest<N> {
    pub user: N,
    pub id: N,
    pub sale: Meant,
}

/// An order of the book, for what is decided of it.
pub(crate) struct Found<N> {
    pub(crate) rules: Rules,
    pub(crate) order: Order<N>,
    pub(crate) entry: Entry<N>,
}

impl<N: Clone> Found<N> {
    pub(crate) fn amend(&self) -> Amend<N> {
        Amend::about(self.order.clone(), Some(self.rules.sale))
    }

    /// The answer tells what has become of the order, so that is replicated again.
    pub(crate) fn again<A>(&self, answer: A) -> Decision<A, N> {
        Decision::Do(answer, Plan::Repeat(Recorded::Order(self.order.id.clone())))
    }

    fn release<F: Facts<Name = N>>(
        &self,
        facts: &F,
        release: ReleaseTerms,
    ) -> Result<Amend<N>, F::Error> {
        release.of(facts, &self.rules, &self.order.id, &self.entry)
    }

    pub(crate) fn expire<F: Facts<Name = N>>(
        &self,
        facts: &F,
    ) -> Result<Option<Amend<N>>, F::Error> {
        expire(facts, &self.rules, &self.order.id, &self.entry)
    }
}

/// The order that a request is about; None if there is none, or it is another user's or of another
/// sale.
pub(crate) fn find<F: Facts>(
    facts: &F,
    rules: Rules,
    request: &OrderRequest<F::Name>,
) -> Result<Option<Found<F::Name>>, F::Error> {
    if !request.sale.is(Some(rules.sale)) {
        return Ok(None);
    }
    let entry = facts.entry_of(&request.id, &request.user)?;
    Ok(entry.map(|entry| {
        let (user, id) = (request.user.clone(), request.id.clone());
        Found { rules, order: Order { user, id, units: entry.units }, entry }
    }))
}

/// What a cancellation says beside its order; by default, that all of it is released.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cancel<N> {
    /// Only an order in this state is cancelled.
    pub only: Option<State>,
    /// Units that the order keeps.
    pub kept: Option<Units>,
    /// The units leave the sale instead of returning to the stock.
    pub norestock: bool,
    /// They are refunded already. Only a sold order with a reference is cancelled so.
    pub refunded: bool,
    /// Only an order that was paid with this reference is cancelled.
    pub reference: Option<N>,
}

impl<N> Cancel<N> {
    /// All of an order, whatever it is.
    pub const ALL: Self =
        Self { only: None, kept: None, norestock: false, refunded: false, reference: None };
}

/// Decides a cancellation. Of an unmanaged voucher the membership of the set is all there is: the
/// order id only travels into the entry.
pub fn cancel<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
    cancel: Cancel<F::Name>,
) -> Result<Decision<Cancellation, F::Name>, F::Error> {
    let Some(rules) = facts.rules()? else {
        if cancel != Cancel::ALL || request.sale != Meant::Any {
            // There is no record of its orders.
            return Err(Refusal::NotManaged.into());
        }
        let order = order_asked(request, Units::ONE);
        return Ok(match release_unmanaged(facts, order, Reason::Cancelled)? {
            None => Decision::Answer(Cancellation::NoSuchOrder),
            Some(plan) => Decision::Do(Cancellation::Released, plan.into()),
        });
    };
    let Some(found) = find(facts, rules, request)? else {
        return Ok(Decision::Answer(Cancellation::NoSuchOrder));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok(Decision::Do(Cancellation::WasReleased, plan.into()));
    }
    if found.entry.state.is_released() {
        return Ok(found.again(Cancellation::WasReleased));
    }
    let Cancel { only, kept, norestock, refunded, reference } = cancel;
    let (state, is_paid) = (found.entry.state, found.entry.reference.is_some());
    let is_paid_otherwise = reference.is_some() && found.entry.reference != reference;
    let waits = state == State::Waiting;
    let is_other = only.is_some_and(|only| only != state) || waits && kept.is_some();
    if is_other || is_paid_otherwise || refunded && !(state == State::Sold && is_paid) {
        return Ok(found.again(Cancellation::InAnotherState));
    }
    if waits {
        let Found { rules, order, entry } = &found;
        let plan = leave(facts, rules, &order.id, entry, Reason::Cancelled)?;
        return Ok(Decision::Do(Cancellation::Released, plan.into()));
    }
    if kept.is_some_and(|kept| kept >= found.entry.units) {
        return Ok(found.again(Cancellation::WasReleased));
    }
    let release = ReleaseTerms { reason: Reason::Cancelled, kept, norestock, refunded };
    let plan = found.release(facts, release)?;
    Ok(Decision::Do(Cancellation::Released, plan.into()))
}

/// Decides the rejection of an order's entry by a consumer: it becomes a dead letter whatever has
/// become of the order, which is released if it is live.
///
/// With `only_unsold` nothing happens, and the answer is None, unless the order is on record as
/// held or as released.
pub fn reject<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
    units: Units,
    only_unsold: bool,
) -> Result<Decision<Option<Fate>, F::Name>, F::Error> {
    facts.room(Stream::DeadLetters)?;
    let (fate, release) = rejected(facts, request, units)?;
    let released = release.as_ref().filter(|_| fate == Fate::Rejected);
    let was = released.and_then(|plan| match plan.appends {
        Appends::One(Append::Release { was, .. }) => was,
        _ => None,
    });
    if only_unsold && fate != Fate::Released && was != Some(State::Held) {
        return Ok(match release {
            // It is sold, and the answer tells that.
            Some(Amend { order, sale: Some(_), .. }) => {
                Decision::Do(None, Plan::Repeat(Recorded::Order(order.id)))
            }
            _ => Decision::Answer(None),
        });
    }
    let Some(mut plan) = release else {
        return Ok(Decision::Do(Some(fate), Plan::DeadLetter(fate)));
    };
    let letter = Append::DeadLetter { fate, was };
    plan.appends = match plan.appends {
        Appends::One(released) => Appends::Two([letter, released]),
        Appends::None | Appends::Two(_) => Appends::One(letter),
    };
    Ok(Decision::Do(Some(fate), plan.into()))
}

/// What becomes of the order of a rejected entry, and the plan if it is released.
type Rejected<F> = (Fate, Option<Amend<<F as Facts>::Name>>);

fn rejected<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
    units: Units,
) -> Result<Rejected<F>, F::Error> {
    let rules = facts.rules()?;
    if !request.sale.is(rules.map(|rules| rules.sale)) {
        // Of an earlier sale, whose order may have had the same id.
        return Ok((Fate::Unknown, None));
    }
    let Some(rules) = rules else {
        let order = order_asked(request, units);
        let plan = release_unmanaged(facts, order, Reason::Rejected)?;
        return Ok((if plan.is_some() { Fate::Rejected } else { Fate::Unknown }, plan));
    };
    let Some(found) = find(facts, rules, request)? else {
        return Ok((Fate::Unknown, None));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok((Fate::Released, Some(plan)));
    }
    match found.entry.state {
        State::Released(_) => return Ok((Fate::Released, None)),
        // The entry is of a try that the server has lost, not of this one.
        State::Waiting => return Ok((Fate::Unknown, None)),
        State::Held | State::Sold => {}
    }
    Ok((Fate::Rejected, Some(found.release(facts, ReleaseTerms::all(Reason::Rejected))?)))
}

/// Ends a hold, because its deadline has passed or, for the reason given, before. What is no order
/// that is held has no units to release: somebody edited the holds.
pub fn end_hold<F: Facts>(
    facts: &F,
    id: &F::Name,
    reason: Reason,
) -> Result<Plan<F::Name>, F::Error> {
    let rules = managed(facts)?;
    match facts.entry(id)? {
        Some(entry) if entry.state == State::Held => match expire(facts, &rules, id, &entry)? {
            Some(plan) => Ok(plan.into()),
            None => ReleaseTerms::all(reason).of(facts, &rules, id, &entry).map(Plan::Amend),
        },
        _ => {
            check_there(facts, [Needed::Book])?;
            facts.writable(false)?;
            Ok(Plan::StrayHold(id.clone()))
        }
    }
}

/// Releases an order whose deadline has passed, or that waits beyond the end of the sale, if the
/// timer has not yet: asked before anything else is decided of an order, so that what comes too
/// late is too late for good.
pub(crate) fn expire<F: Facts>(
    facts: &F,
    rules: &Rules,
    id: &F::Name,
    entry: &Entry<F::Name>,
) -> Result<Option<Amend<F::Name>>, F::Error> {
    if !entry.is_over(rules, facts.now()) {
        return Ok(None);
    }
    match entry.state {
        State::Waiting => leave(facts, rules, id, entry, Reason::Expired),
        _ => ReleaseTerms::all(Reason::Expired).of(facts, rules, id, entry),
    }
    .map(Some)
}

/// How a live order is released.
#[derive(Clone, Copy)]
struct ReleaseTerms {
    reason: Reason,
    /// What it keeps: fewer units than it has.
    kept: Option<Units>,
    norestock: bool,
    refunded: bool,
}

impl ReleaseTerms {
    /// All units return to the stock, and are to be refunded if they were paid.
    fn all(reason: Reason) -> Self {
        Self { reason, kept: None, norestock: false, refunded: false }
    }

    fn append(self, was: Option<State>) -> Append {
        let Self { reason, kept, norestock, refunded } = self;
        Append::Release { reason, was, kept, norestock, refunded }
    }

    /// Releases the units of an order, and its user's right to buy; or all its units but those that
    /// are kept. Not from a sale that lacks a key: what is not written there would be wrong when
    /// the key comes.
    fn of<F: Facts>(
        self,
        facts: &F,
        rules: &Rules,
        id: &F::Name,
        entry: &Entry<F::Name>,
    ) -> Result<Amend<F::Name>, F::Error> {
        let kept = self.kept;
        let left = kept.map_or(0, Units::get);
        let units = Units::new(entry.units.get().saturating_sub(left)).ok_or(Refusal::Garbled)?;
        facts.releasable()?;
        let is_held = entry.state == State::Held;
        let counts_extra = is_held && entry.units != Units::ONE;
        let parts = [Needed::Stock, Needed::Buyers, Needed::Units];
        check_there(facts, parts.into_iter().chain(counts_extra.then_some(Needed::Extra)))?;
        let payment = if kept.is_none() { refunded(facts, rules, id, entry)? } else { None };
        let has = facts.user_units(&entry.user)?;
        let stock = self.stock_after(facts.stock()?, units, rules);
        let remaining = has.as_ref().and_then(|has| has.without(units, false));
        let had = has.as_ref().map_or(Has::default(), UserUnits::has);
        let beyond_one = more_beyond_one(had, remaining.as_ref(), 0);
        facts.writable(counts_extra || beyond_one != 0)?;
        facts.room(Stream::Released)?;
        let order = Order { user: entry.user.clone(), id: id.clone(), units };
        let mut plan = Amend::about(order, Some(rules.sale));
        plan.appends = Appends::One(self.append(Some(entry.state)));
        plan.rules = self.norestock.then(|| rules.without(units));
        plan.stock = stock;
        if is_held {
            let was_beyond = entry.units.beyond_first();
            plan.extra = kept.map_or(0, Units::beyond_first).saturating_sub(was_beyond);
        }
        plan.beyond_one = beyond_one;
        plan.payment = payment;
        // Without units on record, none are written.
        plan.units = has.map(|_| remaining.clone().into());
        let entry_left = self.note_refund(entry)?;
        plan.entry = Some(match kept {
            Some(units) => Entry { units, ..entry_left },
            None => {
                plan.hold = is_held.then_some(Hold::Lift);
                plan.dismiss = !remaining.is_some_and(|has| has.has().is_buyer());
                entry_left.released(self.reason)
            }
        });
        debug_assert!(plan.makes_no_units(entry));
        Ok(plan)
    }

    fn stock_after(self, stock: Stock, units: Units, rules: &Rules) -> Option<Change> {
        match stock {
            // A stock that was deleted is never created again.
            Stock::Missing => None,
            Stock::Left(_) if self.norestock => None,
            Stock::Left(before) => {
                let after = stock_after_release(before, units, rules.total);
                (after != before).then_some(Change { before, after })
            }
        }
    }

    /// The order, with the units that were refunded elsewhere.
    fn note_refund<N: Clone>(self, entry: &Entry<N>) -> Result<Entry<N>, Refusal> {
        let span = Span::behind(self.kept, entry.units).filter(|_| self.refunded);
        let refunded = span.map(|span| entry.refunded.before(span).ok_or(Refusal::Parts));
        let refunded = refunded.transpose()?.unwrap_or(entry.refunded);
        Ok(Entry { refunded, ..entry.clone() })
    }
}

/// The payment of an order that is released, if it is on record: its refund is announced now.
fn refunded<F: Facts>(
    facts: &F,
    rules: &Rules,
    id: &F::Name,
    entry: &Entry<F::Name>,
) -> Result<Option<NamedPayment<F::Name>>, F::Error> {
    let Some(reference) = &entry.reference else { return Ok(None) };
    let known = facts.payment(reference)?.filter(|it| it.sale == rules.sale && it.id == *id);
    let first = known.filter(|it| it.outcome == Outcome::First);
    let released = |it| Payment { outcome: Outcome::Released, ..it };
    Ok(first.map(|it| (reference.clone(), released(it))))
}

/// The order that a request names, as far as the request knows it.
pub(crate) fn order_asked<N: Clone>(request: &OrderRequest<N>, units: Units) -> Order<N> {
    Order { user: request.user.clone(), id: request.id.clone(), units }
}

/// Releases an order of an unmanaged voucher. None when the user has bought nothing.
fn release_unmanaged<F: Facts>(
    facts: &F,
    order: Order<F::Name>,
    reason: Reason,
) -> Result<Option<Amend<F::Name>>, F::Error> {
    if !facts.is_buyer(&order.user)? {
        return Ok(None);
    }
    let stock = match facts.stock()? {
        Stock::Missing => None,
        Stock::Left(-1) if facts.policy().minus_one_is_unlimited => None,
        Stock::Left(before) => {
            let after = before.checked_add(order.units.get()).ok_or(Refusal::Overflow)?;
            Some(Change { before, after })
        }
    };
    facts.room(Stream::Released)?;
    let appends = Appends::One(ReleaseTerms::all(reason).append(None));
    Ok(Some(Amend { appends, stock, dismiss: true, ..Amend::about(order, None) }))
}

/// The stock after `units` are released: not above the total, and never less than before.
pub fn stock_after_release(left: i64, units: Units, total: i64) -> i64 {
    left.saturating_add(units.get()).min(total.max(left))
}
