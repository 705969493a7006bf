//! One function of a reference: what was paid, kept and refunded with it, what of it is open, and
//! whether its uses conflict. Intake, check and resolve use it and nothing else.

use crate::homes::{PaymentRow, Stated};
use crate::unit_set::UnitSet;

/// Whose a payment is.
pub trait Owner {
    /// Are they parts of one cart: one order of one user, at several vouchers?
    fn is_of_cart(&self, other: &Self) -> bool;
}

/// One use of a reference: by an order that keeps so many units with it.
#[derive(Clone, Copy, Debug)]
pub struct Use<'u, O, I> {
    pub owner: &'u O,
    pub payment: &'u PaymentRow<I>,
    pub kept: i64,
}

/// What is known of a reference, in units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balance {
    /// None while the number of some payment's units is not known.
    pub paid: Option<i64>,
    pub kept: i64,
    /// On lines or elsewhere, and no more than was paid; 2^63 - 1 for a whole payment of unknown
    /// units.
    pub refunded: i64,
    pub open: i64,
    /// Two orders or users, or two sales of a voucher.
    pub is_conflict: bool,
}

/// What the other orders of a reference mean to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Others {
    /// The reference is in conflict: it is used by others that are no parts of the cart, or one
    /// part of the cart is to be refunded as a whole.
    pub is_conflict: bool,
    /// By others that are no parts of the cart.
    pub is_of_others: bool,
    /// Another order has it: an unmatched payment is nothing. Of a cart, a part with UNITS of its
    /// own is its own money.
    pub have_it: bool,
    /// Units that have a home there. A cart's parts have units of their own.
    pub gone: UnitSet,
}

/// Do two uses of a reference conflict?
fn conflict<O: Owner, I: Copy + Eq>(one: &Use<'_, O, I>, other: &Use<'_, O, I>) -> bool {
    let are_used = one.payment.is_in_use() && other.payment.is_in_use();
    let is_whole = one.payment.is_whole() || other.payment.is_whole();
    are_used && (is_whole || !one.owner.is_of_cart(other.owner))
}

/// What the others of a reference mean to the use at `me`.
pub fn others<O: Owner, I: Copy + Eq>(uses: &[Use<'_, O, I>], me: usize) -> Others {
    let mut others = Others::default();
    let Some(mine) = uses.get(me) else { return others };
    for (_, other) in uses.iter().enumerate().filter(|(at, _)| *at != me) {
        let (is_of_cart, is_conflict) = (mine.owner.is_of_cart(other.owner), conflict(mine, other));
        others.is_conflict |= is_conflict;
        others.is_of_others |= is_conflict && !is_of_cart;
        let is_own = is_of_cart && mine.payment.stated != Stated::Never;
        others.have_it |= other.payment.is_in_use() && !is_own;
        if !is_of_cart {
            others.gone = others.gone.union(&other.payment.gone());
        }
    }
    others
}

/// What is known of a reference, by all its uses.
pub fn balance<O: Owner, I: Copy + Eq>(uses: &[Use<'_, O, I>]) -> Balance {
    let mut sum = Balance { paid: Some(0), ..Balance::default() };
    for (at, one) in uses.iter().enumerate() {
        let others = others(uses, at);
        let payment = one.payment;
        let is_nothing = !payment.is_in_use() && (others.have_it || !payment.is_unmatched);
        // Of what is another order's, the lines still count.
        let homes = match is_nothing {
            true => PaymentRow { is_nothing: false, ..payment.clone() }.homes(0, &UnitSet::EMPTY),
            false => payment.homes(one.kept, &others.gone),
        };
        let add = |sum: &mut i64, units: &UnitSet| *sum = sum.saturating_add(units.count());
        add(&mut sum.refunded, &homes.lines);
        add(&mut sum.refunded, &homes.elsewhere);
        if !is_nothing {
            add(&mut sum.kept, &homes.kept);
            add(&mut sum.open, &homes.open);
            let paid = sum.paid.zip(payment.units());
            sum.paid = paid.map(|(paid, units)| paid.saturating_add(units));
        }
        sum.is_conflict |= others.is_of_others;
    }
    // A line of the whole payment, whose units another order's use of it tells.
    sum.refunded = sum.paid.map_or(sum.refunded, |paid| sum.refunded.min(paid));
    sum
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::payments::Outcome;
    use crate::rows::{Paid, Report};

    struct Order(char);

    impl Owner for Order {
        fn is_of_cart(&self, other: &Self) -> bool {
            self.0 == other.0
        }
    }

    /// It was written as a whole for an order that it is not of.
    #[test]
    fn no_more_is_refunded_than_was_paid() {
        let duplicate = |units| {
            let (outcome, payment) = (Outcome::Duplicate, Paid { reference: 'p', units });
            let mut row = PaymentRow::default();
            row.join(Some(1), &Report::Payment { outcome, payment, units: 0 });
            row
        };
        let mut whole = duplicate(None);
        whole.lines = whole.due();
        whole.is_nothing = true;
        let (one, other, stated) = (Order('a'), Order('b'), duplicate(Some(2)));
        let uses = [
            Use { owner: &one, payment: &whole, kept: 0 },
            Use { owner: &other, payment: &stated, kept: 0 },
        ];
        let sum = balance(&uses);
        assert_eq!((sum.paid, sum.refunded, sum.open), (Some(2), 2, 0));
    }
}
