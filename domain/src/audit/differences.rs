//! What an audit has found, in words.

use super::{Figures, Progress, Sum};
use std::cmp::Ordering;

/// Differences that are counted one by one.
const FINDINGS: [(Sum, &str); 10] = [
    (Sum::BadOrder, "orders of the book can't be read"),
    (Sum::BadUnits, "users' units can't be read"),
    (Sum::NoUnits, "live orders are of users who have no units on record"),
    (Sum::NoBuyer, "live orders are of users who are not among the buyers"),
    (Sum::OtherDeadline, "holds have a different deadline from their order"),
    (Sum::NoOrder, "holds have no held order"),
    (Sum::NoHold, "held orders have no hold"),
    (Sum::NoWaiter, "places in the queue have no waiting order"),
    (Sum::NoPlace, "waiting orders have no place in the queue"),
    (Sum::StrayBuyer, "buyers have no units on record"),
];

impl Progress {
    /// The book is gone, while other keys know of orders. What those differ in is not said: whoever
    /// made them agree with a book without orders would sell again what is sold.
    pub(super) fn no_book(&self, now: &Figures) -> Option<String> {
        let of_orders = [Sum::Buyers, Sum::BadUnits, Sum::NoOrder, Sum::NoWaiter, Sum::UnitsPrint];
        let is_gone = now.orders == 0 && of_orders.into_iter().any(|sum| self.sum(sum) != 0);
        is_gone.then(|| {
            let buyers = self.sum(Sum::Buyers);
            format!("there is no book, so what {buyers} users have is in no sum: add no units")
        })
    }

    pub(super) fn differences(&self, now: &Figures, is_changed: bool) -> Vec<String> {
        let mut differences: Vec<String> = FINDINGS
            .iter()
            .map(|(sum, what)| (self.sum(*sum), what))
            .filter(|(number, _)| *number > 0)
            .map(|(number, what)| format!("{number} {what}"))
            .collect();
        if self.is_done() {
            if now.left.is_none() {
                differences.push("there is no stock key".to_owned());
            }
            let units = if is_changed { None } else { self.units_difference() };
            let are_counted = now.numbers() == self.first && units.is_none();
            if !is_changed {
                differences.extend(self.total_difference(now));
            }
            differences.extend(units);
            differences.extend(self.extra_difference(now));
            differences.extend(self.beyond_one_difference(now).filter(|_| are_counted));
        }
        differences
    }

    /// Between the total and its parts. Units that are nowhere may be those of orders that the book
    /// has lost, so the sentence of these is another one than of units that are too many.
    fn total_difference(&self, now: &Figures) -> Option<String> {
        let (total, left) = (now.total, now.left?);
        let (held, sold) = (self.sum(Sum::Held), self.sum(Sum::Sold));
        let sum = left.saturating_add(held).saturating_add(sold);
        let parts = format!("left {left} + held {held} + sold {sold} is {sum}");
        match sum.cmp(&total) {
            Ordering::Equal => None,
            Ordering::Greater => Some(format!("total is {total}, but {parts}")),
            Ordering::Less => {
                let missing = total.saturating_sub(sum);
                Some(format!("{missing} units are missing: {parts}, of a total of {total}"))
            }
        }
    }

    /// Between the users' own records and their orders. Records that are missing or unreadable are
    /// in no sum, and are reported already.
    fn units_difference(&self) -> Option<String> {
        let are_all_read = self.sum(Sum::BadUnits) == 0 && self.sum(Sum::NoUnits) == 0;
        (are_all_read && self.sum(Sum::OrderPrint) != self.sum(Sum::UnitsPrint))
            .then(|| "users' units differ from those of their live orders".to_owned())
    }

    /// Between the held orders and the key that counts their units in constant time.
    fn extra_difference(&self, now: &Figures) -> Option<String> {
        let units = self.sum(Sum::Extra);
        (now.numbers() == self.first && now.extra != Some(units)).then(|| {
            let found =
                now.extra.map_or_else(|| "no integer".to_owned(), |extra| extra.to_string());
            format!(
                "held orders have {units} units beyond the first of each, but their count is \
                 {found}"
            )
        })
    }

    /// Between the users' own records and the key that counts their units in constant time.
    fn beyond_one_difference(&self, now: &Figures) -> Option<String> {
        let units = self.sum(Sum::BeyondOne).saturating_add(self.sum(Sum::Waiting));
        let are_all_read = self.sum(Sum::BadUnits) == 0;
        // A key that can't be read is reported already.
        let found = now.beyond_one.filter(|found| are_all_read && *found != units)?;
        Some(format!("users have {units} units beyond one each, but their count is {found}"))
    }
}
