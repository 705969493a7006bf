//! Is a sale whole whose keys came one by one, copied or renamed by another client?

use crate::book::{Entry, State};
use crate::facts::{Facts, Needed, Refusal, check_there, is_any_there};
use crate::sale::{Stock, Units};

/// How far the book of such a sale was read, and which keys its orders need.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    position: u64,
    is_over: bool,
    needed: Vec<Needed>,
}

impl Reading {
    /// Where to read on; None once all of the book was read.
    pub fn position(&self) -> Option<u64> {
        (!self.is_over).then_some(self.position)
    }

    /// The next position; 0 at the end.
    pub fn went_on(&mut self, position: u64) {
        (self.position, self.is_over) = (position, position == 0);
    }

    pub fn add<N>(&mut self, entry: &Entry<N>) {
        let (waits, is_held) = (entry.state == State::Waiting, entry.state == State::Held);
        let is_live = entry.state.is_live();
        for (part, is_needed) in [
            (Needed::Buyers, is_live),
            (Needed::Units, is_live || waits),
            (Needed::Holds, is_held),
            (Needed::Extra, is_held && entry.units != Units::ONE),
            (Needed::Queue, waits),
            (Needed::Payments, entry.reference.is_some()),
        ] {
            if is_needed && !self.needed.contains(&part) {
                self.needed.push(part);
            }
        }
    }

    /// Refuses while a key is missing that one of the orders needs.
    pub fn check<F: Facts>(&self, facts: &F) -> Result<(), F::Error> {
        check_there(facts, self.needed.iter().copied())
    }
}

/// Refuses a sale that lacks a key, as far as its other keys tell in constant time. Says whether
/// there is a book, whose orders tell the rest.
pub fn check_parts<F: Facts>(facts: &F) -> Result<bool, F::Error> {
    use Needed::{Book, Extra, Holds, Queue, Rules, Stock as TheStock};
    let Some(rules) = facts.rules()? else {
        // The stock and the buyers can be those of an unmanaged voucher, and payments outlive a
        // sale.
        let is_managed = is_any_there(facts, [Book, Needed::Units, Holds, Extra, Queue])?;
        return if is_managed { Err(Refusal::Missing(Rules).into()) } else { Ok(false) };
    };
    check_there(facts, [TheStock])?;
    if !facts.is_missing(Book)? {
        return Ok(true);
    }
    let has_sold = matches!(facts.stock()?, Stock::Left(left) if left < rules.total);
    if has_sold || is_any_there(facts, [Needed::Units, Holds, Extra, Queue])? {
        return Err(Refusal::Missing(Book).into());
    }
    Ok(false)
}
