//! Decides confirmations, by payments with a reference or without, and requests for more time.

use crate::book::{Entry, State};
use crate::facts::{Facts, Refusal, Stream, managed};
use crate::orders::{Found, Request, find, unmanaged_order};
use crate::payments::{Outcome, Payment};
use crate::plan::{Append, Decision, Hold, Plan};
use crate::rules::{Meant, Millis, Rules};
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
    SecondPayment = 5,
}

impl Confirmation {
    /// What a confirmation with this payment is answered again.
    pub fn again(outcome: Outcome) -> Self {
        match outcome {
            Outcome::First => Self::WasSold,
            Outcome::Released => Self::ReleasedSince,
            Outcome::Late => Self::TooLate,
            Outcome::Second => Self::SecondPayment,
            Outcome::Unknown => Self::NoSuchOrder,
        }
    }
}

impl<N: Clone> Found<N> {
    /// A held order is sold. The entry of a stream is yet to be said.
    fn sell<F: Facts<Name = N>>(&self, facts: &F) -> Result<Plan<N>, F::Error> {
        facts.writable(self.entry.units)?;
        facts.room(Stream::Confirmed)?;
        let mut plan = self.plan();
        plan.entry = Some(Entry { state: State::Sold, deadline: 0, ..self.entry.clone() });
        plan.hold = Some(Hold::Lift);
        plan.extra = self.entry.units.beyond_first().saturating_neg();
        Ok(plan)
    }
}

/// Decides a confirmation, by a payment with a reference or by none.
pub fn confirm<F: Facts>(
    facts: &F,
    request: &Request<F::Name>,
    reference: Option<F::Name>,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(reference) = reference else { return confirm_unpaid(facts, request) };
    let Some(known) = facts.payment(&reference)? else {
        return confirm_paid(facts, request, reference);
    };
    if !request.sale.is(Some(known.sale)) || known.id != request.id {
        return Err(Refusal::Reference.into());
    }
    let (answer, sale) = (Confirmation::again(known.outcome), Some(known.sale));
    let order = unmanaged_order(request, Units::ONE);
    let plan = Plan { payment: Some((reference, known)), ..Plan::again(order, sale) };
    Ok(Decision::Do(answer, plan))
}

fn confirm_unpaid<F: Facts>(
    facts: &F,
    request: &Request<F::Name>,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(found) = find(facts, managed(facts)?, request)? else {
        return Ok(Decision::Answer(Confirmation::NoSuchOrder));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok(Decision::Do(Confirmation::TooLate, plan));
    }
    match found.entry.state {
        State::Held => {
            let mut plan = found.sell(facts)?;
            plan.appends[0] = Some(Append::Confirmation);
            Ok(Decision::Do(Confirmation::Confirmed, plan))
        }
        State::Waiting => Ok(Decision::Answer(Confirmation::NoSuchOrder)),
        State::Sold => Ok(found.again(Confirmation::WasSold)),
        State::Released(_) => Ok(found.again(Confirmation::TooLate)),
    }
}

/// Decides a confirmation by a payment that is not on record: it is from now on, whatever the
/// answer is, so that none vanishes and none counts twice.
fn confirm_paid<F: Facts>(
    facts: &F,
    request: &Request<F::Name>,
    reference: F::Name,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let rules = managed(facts)?;
    let Some(found) = find(facts, rules, request)? else {
        return unknown(facts, &rules, request, reference);
    };
    let payment = |outcome| {
        let id = request.id.clone();
        Some((reference.clone(), Payment { outcome, sale: rules.sale, id }))
    };
    if let Some(expired) = found.expire(facts)? {
        facts.room(Stream::Confirmed)?;
        let mut plan = Plan { payment: payment(Outcome::Late), ..expired };
        plan.appends[1] = Some(Append::Payment(Outcome::Late));
        return Ok(Decision::Do(Confirmation::TooLate, plan));
    }
    let entry = &found.entry;
    if entry.state == State::Waiting {
        return unknown(facts, &rules, request, reference);
    }
    let is_theirs = entry.reference.as_ref() == Some(&reference);
    let (answer, outcome, plan) = match entry.state {
        State::Held => (Confirmation::Confirmed, Outcome::First, found.sell(facts)?),
        State::Sold if entry.reference.is_none() => {
            facts.writable(Units::ONE)?;
            let plan = Plan { entry: Some(entry.clone()), ..found.plan() };
            (Confirmation::WasSold, Outcome::First, plan)
        }
        State::Sold if is_theirs => (Confirmation::WasSold, Outcome::First, found.plan()),
        State::Sold => (Confirmation::SecondPayment, Outcome::Second, found.plan()),
        State::Released(_) if is_theirs => {
            (Confirmation::ReleasedSince, Outcome::Released, found.plan())
        }
        State::Released(_) | State::Waiting => (Confirmation::TooLate, Outcome::Late, found.plan()),
    };
    let mut plan = Plan { payment: payment(outcome), ..plan };
    // What the book has of it already, other clients have read.
    if !is_theirs {
        facts.room(Stream::Confirmed)?;
        plan.appends[0] = Some(Append::Payment(outcome));
    }
    if let Some(entry) = &mut plan.entry {
        entry.reference = Some(reference);
    }
    Ok(Decision::Do(answer, plan))
}

/// Records a payment of no order, or of one that has no units yet.
fn unknown<F: Facts>(
    facts: &F,
    rules: &Rules,
    request: &Request<F::Name>,
    reference: F::Name,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    facts.room(Stream::Confirmed)?;
    let sale = match request.sale {
        Meant::Sale(sale) => sale,
        Meant::Any | Meant::Unmanaged => rules.sale,
    };
    let mut plan = Plan::about(unmanaged_order(request, Units::ONE), Some(sale));
    plan.appends[0] = Some(Append::Payment(Outcome::Unknown));
    let id = request.id.clone();
    plan.payment = Some((reference, Payment { outcome: Outcome::Unknown, sale, id }));
    Ok(Decision::Do(Confirmation::NoSuchOrder, plan))
}

/// Decides a request for `ms` more from now; a deadline never moves to earlier. Only an order that
/// could be confirmed now gets more time.
pub fn extend<F: Facts>(
    facts: &F,
    request: &Request<F::Name>,
    ms: Millis,
) -> Result<Decision<Confirmation, F::Name>, F::Error> {
    let Some(found) = find(facts, managed(facts)?, request)? else {
        return Ok(Decision::Answer(Confirmation::NoSuchOrder));
    };
    if let Some(plan) = found.expire(facts)? {
        return Ok(Decision::Do(Confirmation::TooLate, plan));
    }
    let entry = &found.entry;
    match entry.state {
        State::Held => {
            let deadline = facts.now().saturating_add(ms);
            if deadline <= entry.deadline {
                return Ok(found.again(Confirmation::Confirmed));
            }
            facts.writable(entry.units)?;
            let mut plan = found.plan();
            plan.entry = Some(Entry { deadline, ..entry.clone() });
            plan.hold = Some(Hold::Move(deadline));
            Ok(Decision::Do(Confirmation::Confirmed, plan))
        }
        State::Waiting => Ok(Decision::Answer(Confirmation::NoSuchOrder)),
        State::Sold => Ok(found.again(Confirmation::WasSold)),
        State::Released(_) => Ok(found.again(Confirmation::TooLate)),
    }
}
