//! Checks that the keys of a managed voucher agree.

pub mod steps;

use crate::book::{Entry, State, UserUnits};
use std::collections::{HashMap, HashSet};

type Bytes = Vec<u8>;

/// The contents of all keys of a managed voucher.
pub struct Books {
    pub total: i64,
    /// None if there is no stock key.
    pub left: Option<i64>,
    /// Order id to entry.
    pub orders: Vec<(Bytes, Bytes)>,
    /// User to holding.
    pub holdings: Vec<(Bytes, Bytes)>,
    /// Order id and deadline.
    pub holds: Vec<(Bytes, i64)>,
    /// Units of held orders beyond the first of each; None if the key is not an integer.
    pub extra: Option<i64>,
    pub buyers: HashSet<Bytes>,
}

/// The sums of the book, and where other keys disagree with it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Report {
    pub held: i64,
    pub sold: i64,
    /// Orders in the book, live or released.
    pub orders: i64,
    /// Users with a live order.
    pub buyers: i64,
    /// One sentence per difference, without bytes of users; empty if all keys agree.
    pub differences: Vec<String>,
}

/// Sums up the book and compares the other keys with it.
pub fn audit(books: &Books) -> Report {
    let mut report = Report { orders: len(books.orders.len()), ..Report::default() };
    let mut units_by_user: HashMap<&[u8], i64> = HashMap::new();
    let mut held: HashMap<&[u8], i64> = HashMap::new();
    let (mut garbled, mut extra) = (0usize, 0i64);
    for (id, text) in &books.orders {
        let Ok(entry) = Entry::parse(text) else {
            garbled = garbled.saturating_add(1);
            continue;
        };
        let units = entry.units.get();
        match entry.state {
            State::Held => {
                report.held = report.held.saturating_add(units);
                extra = extra.saturating_add(units.saturating_sub(1));
                held.insert(id, entry.deadline);
            }
            State::Sold => report.sold = report.sold.saturating_add(units),
            State::Released(_) => continue,
        }
        let sum = units_by_user.entry(entry.user).or_default();
        *sum = sum.saturating_add(units);
    }
    report.buyers = len(units_by_user.len());
    let differences = &mut report.differences;
    count(differences, garbled, "orders of the book can't be read");
    match books.left {
        None => differences.push("there is no stock key".to_owned()),
        Some(left) => {
            differences.extend(total_difference(books.total, left, report.held, report.sold));
        }
    }
    compare_holdings(books, &units_by_user, differences);
    compare_holds(books, &held, differences);
    differences.extend(extra_difference(extra, books.extra));
    let missing = units_by_user.keys().filter(|user| !books.buyers.contains(**user)).count();
    count(differences, missing, "users with a live order are not among the buyers");
    let extra =
        books.buyers.iter().filter(|user| !units_by_user.contains_key(user.as_slice())).count();
    count(differences, extra, "buyers have no live order");
    report
}

/// The difference between the total and its parts.
fn total_difference(total: i64, left: i64, held: i64, sold: i64) -> Option<String> {
    let sum = left.saturating_add(held).saturating_add(sold);
    (sum != total)
        .then(|| format!("total is {total}, but left {left} + held {held} + sold {sold} is {sum}"))
}

/// The difference between the units of held orders beyond the first of each, and the key that
/// counts them.
fn extra_difference(extra: i64, counted: Option<i64>) -> Option<String> {
    let found = counted.map_or_else(|| "no integer".to_owned(), |found| found.to_string());
    (counted != Some(extra)).then(|| {
        format!(
            "held orders have {extra} units beyond the first of each, but their count is {found}"
        )
    })
}

fn compare_holdings(books: &Books, by_user: &HashMap<&[u8], i64>, differences: &mut Vec<String>) {
    let (mut garbled, mut wrong, mut matched) = (0usize, 0usize, 0usize);
    for (user, text) in &books.holdings {
        match (UserUnits::parse(text), by_user.get(user.as_slice())) {
            (Err(_), _) => garbled = garbled.saturating_add(1),
            (Ok(holding), Some(units)) if holding.units.get() == *units => {
                matched = matched.saturating_add(1);
            }
            (Ok(_), _) => wrong = wrong.saturating_add(1),
        }
    }
    count(differences, garbled, "users' units can't be read");
    count(differences, wrong, "users' units differ from those of their live orders");
    let known = matched.saturating_add(wrong).saturating_add(garbled);
    let missing = by_user.len().saturating_sub(known);
    count(differences, missing, "users with a live order have no units on record");
}

fn compare_holds(books: &Books, held: &HashMap<&[u8], i64>, differences: &mut Vec<String>) {
    let (mut wrong, mut matched, mut extra) = (0usize, 0usize, 0usize);
    for (id, deadline) in &books.holds {
        match held.get(id.as_slice()) {
            Some(wanted) if wanted == deadline => matched = matched.saturating_add(1),
            Some(_) => wrong = wrong.saturating_add(1),
            None => extra = extra.saturating_add(1),
        }
    }
    count(differences, wrong, "holds have a different deadline from their order");
    count(differences, extra, "holds have no held order");
    let missing = held.len().saturating_sub(matched.saturating_add(wrong));
    count(differences, missing, "held orders have no hold");
}

fn count(differences: &mut Vec<String>, number: usize, what: &str) {
    if number > 0 {
        differences.push(format!("{number} {what}"));
    }
}

fn len(len: usize) -> i64 {
    i64::try_from(len).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(pairs: &[(&str, &str)]) -> Vec<(Bytes, Bytes)> {
        pairs.iter().map(|(a, b)| (a.as_bytes().to_vec(), b.as_bytes().to_vec())).collect()
    }

    fn sound() -> Books {
        Books {
            total: 9,
            left: Some(5),
            orders: bytes(&[
                ("o1", "held:1:70:ann"),
                ("o2", "sold:2:0:ann"),
                ("o3", "sold:1:0:bob"),
                ("o4", "expired:1:0:cid"),
            ]),
            holdings: bytes(&[("ann", "3:o2"), ("bob", "1:o3")]),
            holds: vec![(b"o1".to_vec(), 70)],
            extra: Some(0),
            buyers: [b"ann".to_vec(), b"bob".to_vec()].into(),
        }
    }

    #[test]
    fn a_sound_book_has_no_differences() {
        let want = Report { held: 1, sold: 3, orders: 4, buyers: 2, differences: Vec::new() };
        assert_eq!(audit(&sound()), want);
    }

    #[test]
    fn every_tampering_is_reported() {
        type Tamper = fn(&mut Books);
        let rows: [(Tamper, &str); 14] = [
            (|b| b.left = Some(6), "total is 9, but left 6 + held 1 + sold 3 is 10"),
            (|b| b.left = None, "there is no stock key"),
            (|b| b.total = 10, "total is 10"),
            (|b| b.orders[3].1 = b"junk".to_vec(), "1 orders of the book can't be read"),
            (|b| b.holdings[0].1 = b"2:o2".to_vec(), "1 users' units differ"),
            (|b| b.holdings[0].1 = b"x".to_vec(), "1 users' units can't be read"),
            (|b| drop(b.holdings.pop()), "1 users with a live order have no units on record"),
            (|b| b.holds[0].1 = 71, "1 holds have a different deadline"),
            (|b| b.holds.clear(), "1 held orders have no hold"),
            (|b| b.holds.push((b"o2".to_vec(), 1)), "1 holds have no held order"),
            (|b| assert!(b.buyers.remove(&b"bob"[..])), "1 users with a live order are not among"),
            (|b| b.extra = Some(3), "held orders have 0 units beyond the first of each, but"),
            (|b| b.extra = None, "held orders have 0 units beyond the first of each, but"),
            (|b| assert!(b.buyers.insert(b"cid".to_vec())), "1 buyers have no live order"),
        ];
        for (tamper, want) in rows {
            let mut books = sound();
            tamper(&mut books);
            let found = audit(&books).differences;
            assert_eq!(found.len(), 1, "{found:?}");
            assert!(found[0].starts_with(want), "{found:?}");
        }
    }
}
