//! Decides confirmations, by payments with a reference or without, and requests for more time.

use crate::book::{Entry, State};
use crate::facts::{Facts, Refusal, Stream, managed};
use crate::orders::{Found, OrderRequest, find, order_asked};
use crate::payments::{Outcome, Payment};
use crate::plan::{Amend, Append, Appends, Decision, Hold, Plan, Recorded};
use crate::rules::{Meant, Millis, Rules, SaleId};
use crate::sale::Units;

/// The answer to a confirmation, and, up to 3, to a request for more time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    NoSuchOrder = 0,
    Confirmed = 1,
    WasSold = 2,
    TooLate = 3,
    /// This payment was accepted, and the order was released since.
    ReleasedSince = 4,
    /// The order was sold under another reference.
    DuplicatePayment = 5,
}

impl Confirmation {
    /// What a confirmation with this payment is answered again.
    pub fn again(outcome: Outcome) -> Self {
        match outcome {
            Outcome::First => Self::WasSold,
            Outcome::Released => Self::ReleasedSince,
            Outcome::Late => Self::TooLate,
            Outcome::Duplicate => Self::DuplicatePayment,
            Outcome::Unmatched => Self::NoSuchOrder,
        }
    }
}

impl<N: Clone> Found<N> {
    /// A held order is sold. The entry of a stream is yet to be said.
    fn sell<F: Facts<Name = N>>(&self, facts: &F) -> Result<Amend<N>, F::Error> {
        facts.writable(self.entry.units != Units::ONE)?;
        facts.room(Stream::Confirmed)?;
        let plan = Amend {
            entry: Some(Entry { state: State::Sold, deadline: 0, ..self.entry.clone() }),
            hold: Some(Hold::Lift),
            extra: self.entry.units.beyond_first().saturating_neg(),
            ..self.amend()
        };
        debug_assert!(plan.makes_no_units(&self.entry));
        Ok(plan)
    }
}

/// A payment, as a confirmation names it.
pub struct Given<N> {
    pub reference: N,
    /// An operator refunds it, unless it has paid an order.
    pub is_refunded: bool,
    /// How many units it is for. Without it, for those that its order has.
    pub units: Option<Units>,
}

/// Decides a confirmation, by a payment with a reference or by none.
pub fn confirm<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
    given: Option<Given<F::Name>>,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(Given { reference, is_refunded, units }) = given else {
        return confirm_without_reference(facts, request);
    };
    let rules = facts.rules()?;
    let known = facts.payment(&reference)?;
    let last = if rules.is_none() { facts.last_sale()? } else { None };
    let sale = match request.sale {
        Meant::Sale(sale) => Some(sale),
        Meant::Any | Meant::Unmanaged => rules.map(|rules| rules.sale).or(last),
    };
    let unmatched = match known {
        Some(known) if known.outcome == Outcome::Unmatched => Some(known),
        Some(known) => {
            let paid = (reference, known);
            return again(facts, (request, units), rules, sale, paid);
        }
        // A wrong database must not answer every payment.
        None if rules.is_none() && last.is_none() => return Err(Refusal::NotManaged.into()),
        None => None,
    };
    // A request that names no sale means this one, and no payment of an earlier one.
    let before = unmatched.as_ref().map(|it| it.sale).filter(|before| Some(*before) != sale);
    let before = before.filter(|_| request.sale == Meant::Any);
    let sale = before.or(sale).ok_or(Refusal::NotManaged)?;
    let found = match rules.filter(|_| before.is_none()) {
        Some(rules) => find(facts, rules, request)?,
        None => None,
    };
    // What was said of a payment that is unmatched stands until something else is.
    let units = units.or(unmatched.as_ref().and_then(|it| it.paid));
    let paid = OpenPayment { reference, sale, units, unmatched };
    let is_theirs = |it: &Found<_>| it.entry.reference.as_ref() == Some(&paid.reference);
    match found {
        Some(found) if is_refunded && !is_theirs(&found) => {
            paid.kept(facts, request, Outcome::Late)
        }
        Some(found) => paid.pay(facts, request, found),
        None if is_refunded => paid.kept(facts, request, Outcome::Late),
        None => paid.kept(facts, request, Outcome::Unmatched),
    }
}

/// Answers a payment that is on record as before, whatever has become of its order. The number of
/// its units stays: that it is for those of its order, if nothing else was said.
fn again<F: Facts>(
    facts: &F,
    (request, units): (&OrderRequest<F::Name>, Option<Units>),
    rules: Option<Rules>,
    sale: Option<SaleId>,
    (reference, known): (F::Name, Payment<F::Name>),
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let is_untold = known.user.is_none() || units.is_some() && known.paid.is_none();
    let entry = match rules.filter(|rules| is_untold && rules.sale == known.sale) {
        // The book tells, while the sale is on.
        Some(_) => facts.entry(&known.id)?,
        None => None,
    };
    // An earlier version recorded no user.
    let user = known.user.as_ref().or(entry.as_ref().map(|entry| &entry.user));
    let is_theirs = known.id == request.id && user.is_none_or(|user| *user == request.user);
    if !is_theirs || sale.is_some_and(|sale| sale != known.sale) {
        return Err(Refusal::Reference.into());
    }
    let its_units = known.paid.or(entry.map(|entry| entry.units));
    if units.is_some() && units != its_units {
        return Err(Refusal::Units.into());
    }
    Ok(recorded_again((reference, known)))
}

/// What is on record is replicated again, and is the answer.
fn recorded_again<N>(paid: (N, Payment<N>)) -> Decision<Confirmation, N> {
    let answer = Confirmation::again(paid.1.outcome);
    Decision::Do(answer, Plan::Repeat(Recorded::Payment(paid)))
}

fn confirm_without_reference<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(found) = find(facts, managed(facts)?, request)? else {
        return Ok(Decision::Answer(Confirmation::NoSuchOrder));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok(Decision::Do(Confirmation::TooLate, plan.into()));
    }
    match found.entry.state {
        State::Held => {
            let appends = Appends::One(Append::Confirmation);
            let plan = Amend { appends, ..found.sell(facts)? };
            Ok(Decision::Do(Confirmation::Confirmed, plan.into()))
        }
        State::Waiting => Ok(Decision::Answer(Confirmation::NoSuchOrder)),
        State::Sold => Ok(found.again(Confirmation::WasSold)),
        State::Released(_) => Ok(found.again(Confirmation::TooLate)),
    }
}

/// A payment of which nothing final is on record.
struct OpenPayment<N> {
    reference: N,
    /// The sale that it is of.
    sale: SaleId,
    /// How many units it is for, if that was said.
    units: Option<Units>,
    /// What is on record of it.
    unmatched: Option<Payment<N>>,
}

impl<N: Clone + Eq> OpenPayment<N> {
    fn record(&self, request: &OrderRequest<N>, outcome: Outcome) -> Option<(N, Payment<N>)> {
        let (user, id) = (Some(request.user.clone()), request.id.clone());
        let (sale, paid) = (self.sale, self.units);
        Some((self.reference.clone(), Payment { outcome, sale, paid, user, id }))
    }

    /// Decides what it is to its order. It is on record from now on, whatever the answer is, so
    /// that none vanishes and none counts twice.
    fn pay<F: Facts<Name = N>>(
        mut self,
        facts: &F,
        request: &OrderRequest<N>,
        found: Found<N>,
    ) -> Result<Decision<Confirmation, N>, F::Error> {
        if let Some(expired) = found.expire(facts)? {
            facts.keepable()?;
            facts.room(Stream::Confirmed)?;
            let late = Append::Payment(Outcome::Late);
            let appends = match expired.appends {
                Appends::One(released) => Appends::Two([released, late]),
                Appends::None | Appends::Two(_) => Appends::One(late),
            };
            let payment = self.record(request, Outcome::Late);
            let plan = Amend { payment, appends, ..expired };
            return Ok(Decision::Do(Confirmation::TooLate, plan.into()));
        }
        let entry = &found.entry;
        if entry.state == State::Waiting {
            // It has no units yet.
            return self.kept(facts, request, Outcome::Unmatched);
        }
        let is_theirs = entry.reference.as_ref() == Some(&self.reference);
        if is_theirs {
            if self.units.is_some_and(|units| units != entry.paid.unwrap_or(entry.units)) {
                return Err(Refusal::Units.into());
            }
            self.units = entry.paid;
        }
        let is_unpaid = entry.state.is_live() && entry.reference.is_none();
        if is_unpaid && self.units.is_some_and(|units| units < entry.units) {
            // It does not pay all of the order, and so nothing of it.
            return self.kept(facts, request, Outcome::Unmatched);
        }
        let (answer, outcome, plan) = match entry.state {
            State::Held => (Confirmation::Confirmed, Outcome::First, found.sell(facts)?),
            State::Sold if entry.reference.is_none() => {
                facts.writable(false)?;
                let plan = Amend { entry: Some(entry.clone()), ..found.amend() };
                (Confirmation::WasSold, Outcome::First, plan)
            }
            State::Sold if is_theirs => (Confirmation::WasSold, Outcome::First, found.amend()),
            State::Sold => (Confirmation::DuplicatePayment, Outcome::Duplicate, found.amend()),
            State::Released(_) if is_theirs => {
                (Confirmation::ReleasedSince, Outcome::Released, found.amend())
            }
            State::Released(_) if entry.was == Some(State::Sold) && entry.reference.is_none() => {
                facts.writable(false)?;
                let plan = Amend { entry: Some(entry.clone()), ..found.amend() };
                (Confirmation::ReleasedSince, Outcome::Released, plan)
            }
            State::Released(_) | State::Waiting => {
                (Confirmation::TooLate, Outcome::Late, found.amend())
            }
        };
        let pays_nothing = matches!(outcome, Outcome::Late | Outcome::Duplicate)
            || outcome == Outcome::Released && !is_theirs;
        if pays_nothing {
            facts.keepable()?;
        }
        let mut plan = Amend { payment: self.record(request, outcome), ..plan };
        // What the book has of it already, other clients have read.
        if !is_theirs {
            facts.room(Stream::Confirmed)?;
            plan.appends = Appends::One(Append::Payment(outcome));
        }
        if let Some(entry) = &mut plan.entry {
            (entry.reference, entry.paid) = (Some(self.reference), self.units);
        }
        Ok(Decision::Do(answer, plan.into()))
    }

    /// Records it without an order that it could pay: unmatched, or late because an operator says
    /// so.
    fn kept<F: Facts<Name = N>>(
        self,
        facts: &F,
        request: &OrderRequest<N>,
        outcome: Outcome,
    ) -> Result<Decision<Confirmation, N>, F::Error> {
        let payment = self.record(request, outcome);
        if let Some(unmatched) = self.unmatched.filter(|_| outcome == Outcome::Unmatched)
            && unmatched.user.as_ref() == Some(&request.user)
            && (&unmatched.id, unmatched.paid) == (&request.id, self.units)
        {
            return Ok(recorded_again((self.reference, unmatched)));
        }
        facts.keepable()?;
        facts.room(Stream::Confirmed)?;
        let appends = Appends::One(Append::Payment(outcome));
        let about = Amend::about(order_asked(request, Units::ONE), Some(self.sale));
        let plan = Amend { appends, payment, ..about };
        Ok(Decision::Do(Confirmation::again(outcome), plan.into()))
    }
}

/// Decides a request for `ms` more from now; a deadline never moves to earlier. Only an order that
/// could be confirmed now gets more time.
pub fn extend<F: Facts>(
    facts: &F,
    request: &OrderRequest<F::Name>,
    ms: Millis,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(found) = find(facts, managed(facts)?, request)? else {
        return Ok(Decision::Answer(Confirmation::NoSuchOrder));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok(Decision::Do(Confirmation::TooLate, plan.into()));
    }
    let entry = &found.entry;
    match entry.state {
        State::Held => {
            let deadline = facts.now().saturating_add(ms);
            if deadline <= entry.deadline {
                return Ok(found.again(Confirmation::Confirmed));
            }
            facts.writable(entry.units != Units::ONE)?;
            let entry = Some(Entry { deadline, ..entry.clone() });
            let plan = Amend { entry, hold: Some(Hold::Move(deadline)), ..found.amend() };
            Ok(Decision::Do(Confirmation::Confirmed, plan.into()))
        }
        State::Waiting => Ok(Decision::Answer(Confirmation::NoSuchOrder)),
        State::Sold => Ok(found.again(Confirmation::WasSold)),
        State::Released(_) => Ok(found.again(Confirmation::TooLate)),
    }
}
