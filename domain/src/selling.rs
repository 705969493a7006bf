//! How an order gets its units, tried just now or waiting in the queue.

use crate::book::{Entry, Has, State, UserUnits};
use crate::facts::{Facts, Stream};
use crate::plan::{Admission, BookWrite, Change, Order, Take, more_beyond_one};
use crate::rules::Rules;
use crate::sale::Units;

/// May these units be taken from a stock of `left`, and what is left then? Total is left, held and
/// sold: whatever else is in the stock was written by another client, and is not for sale.
#[inline]
pub(crate) fn offered<F: Facts>(
    facts: &F,
    rules: &Rules,
    left: i64,
    units: Units,
) -> Result<Option<Change>, F::Error> {
    let after = left.checked_sub(units.get()).filter(|after| *after >= 0);
    let Some(after) = after else { return Ok(None) };
    let for_sale = rules.total.saturating_sub(facts.taken()?);
    facts.note_surplus(left.saturating_sub(for_sale).max(0));
    Ok((units.get() <= for_sale).then_some(Change { before: left, after }))
}

/// The plan by which an order gets its units from the stock, with what its user had and then has,
/// and perhaps leaves the queue.
pub(crate) fn take<F: Facts>(
    facts: &F,
    rules: &Rules,
    order: Order<F::Name>,
    stock: Change,
    had: Has,
    has: UserUnits<F::Name>,
    has_waited: bool,
) -> Result<Take<F::Name>, F::Error> {
    let units = order.units;
    debug_assert_eq!(stock.before.checked_sub(stock.after), Some(units.get()));
    let (state, deadline) = match rules.hold {
        Some(hold) => (State::Held, facts.now().saturating_add(hold)),
        None => (State::Sold, 0),
    };
    let in_queue = i64::from(has_waited).saturating_neg();
    let beyond_one = more_beyond_one(had, Some(&has), in_queue);
    let entry = Entry::made(state, units, deadline, order.user.clone());
    let booked = BookWrite { sale: rules.sale, entry, has, beyond_one };
    facts.writable(booked.counts())?;
    facts.room(Stream::Orders)?;
    let admit = (!had.is_buyer()).then_some(Admission::Add);
    Ok(Take { order, admit, stock: Some(stock), booked: Some(booked) })
}
