//! How an order gets its units, tried just now or waiting in line.

use crate::book::{Entry, State, UserUnits};
use crate::facts::{Facts, Stream};
use crate::plan::{Admission, Change, Hold, Order, Plan};
use crate::rules::Rules;
use crate::sale::Units;

/// The plan by which an order gets its units from the stock, with what its user then has. The entry
/// of the stream is yet to be said.
pub(crate) fn take<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: Order<F::Name>,
    stock: Change,
    has: UserUnits<F::Name>,
    is_new_buyer: bool,
) -> Result<Plan<F::Name>, F::Error> {
    let units = order.units;
    let (state, deadline) = match rules.hold {
        Some(hold) => (State::Held, facts.now().saturating_add(hold)),
        None => (State::Sold, 0),
    };
    facts.writable(if rules.hold.is_some() { units } else { Units::ONE })?;
    facts.room(Stream::Orders)?;
    let entry = Entry::made(state, units, deadline, order.user.clone());
    let mut plan = Plan::about(order, Some(rules.sale));
    plan.admit = is_new_buyer.then_some(Admission::Add);
    plan.stock = Some(stock);
    plan.entry = Some(entry);
    plan.units = Some(Some(has));
    if rules.hold.is_some() {
        plan.hold = Some(Hold::Place(deadline));
        plan.extra = units.beyond_first();
    }
    Ok(plan)
}
