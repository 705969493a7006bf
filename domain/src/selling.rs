//! How an order gets its units, tried just now or waiting in line.

use crate::book::{Entry, State, UserUnits};
use crate::facts::{Facts, Stream};
use crate::plan::{Admission, Booked, Change, Order, Take};
use crate::rules::Rules;
use crate::sale::Units;

/// The plan by which an order gets its units from the stock, with what its user then has.
pub(crate) fn take<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: Order<F::Name>,
    stock: Change,
    has: UserUnits<F::Name>,
    is_new_buyer: bool,
) -> Result<Take<F::Name>, F::Error> {
    let units = order.units;
    debug_assert_eq!(stock.before.checked_sub(stock.after), Some(units.get()));
    let (state, deadline) = match rules.hold {
        Some(hold) => (State::Held, facts.now().saturating_add(hold)),
        None => (State::Sold, 0),
    };
    facts.writable(if rules.hold.is_some() { units } else { Units::ONE })?;
    facts.room(Stream::Orders)?;
    let entry = Entry::made(state, units, deadline, order.user.clone());
    let admit = is_new_buyer.then_some(Admission::Add);
    let booked = Some(Booked { sale: rules.sale, entry, has });
    Ok(Take { order, admit, stock: Some(stock), booked })
}
