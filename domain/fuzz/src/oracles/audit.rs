//! The audit of arbitrary keys.

use std::collections::BTreeSet;

use domain::audit::{Figures, Maps, Progress};
use domain::book::{Entry, State, UserUnits};
use domain::sale::Units;

use crate::input::Input;

/// The audit of keys with arbitrary contents: if it finds no difference, the sums are right.
pub(crate) fn audits(bytes: &[u8]) {
    let now = Figures::default();
    if let Some(progress) = Progress::at(bytes, &now) {
        assert_eq!(Progress::at(&progress.cursor(), &now), Some(progress));
    }
    let mut input = Input::new(bytes);
    let (total, left) = (input.number(), input.flag().then(|| input.number()));
    let mut books = Maps { total, left, extra: Some(0), beyond_one: Some(0), ..Maps::default() };
    while !input.is_empty() {
        let user = vec![b'a' + input.below(3)];
        let id = books.orders.len().to_string().into_bytes();
        let number = input.number();
        match (input.below(6), Units::new(number)) {
            (0, _) => drop(books.orders.insert(id, input.word().to_vec())),
            (1, Some(units)) => {
                books.units.insert(user, UserUnits { units, waiting: 0, latest: b"o" }.write());
            }
            (2, _) => drop(books.buyers.insert(user)),
            (4, None) => books.extra = input.flag().then_some(number),
            (5, None) => books.beyond_one = input.flag().then_some(number),
            (3, _) => books.holds.extend([(id, number)]),
            (_, Some(units)) => {
                let entry = Entry::made(State::Sold, units, 0, &*user);
                books.orders.insert(id, entry.write());
            }
            _ => {}
        }
    }
    let report = books.audit();
    let entries: Vec<_> = books.orders.values().filter_map(|t| Entry::parse(t).ok()).collect();
    let sum = |state: State| -> i128 {
        entries.iter().filter(|e| e.state == state).map(|e| i128::from(e.units.get())).sum()
    };
    let (held, sold) = (sum(State::Held), sum(State::Sold));
    assert_eq!(i128::from(report.held), held.min(i64::MAX.into()));
    assert_eq!(i128::from(report.sold), sold.min(i64::MAX.into()));
    assert_eq!(report.orders, books.orders.len() as i64);
    if report.differences.is_empty() {
        assert_eq!(entries.len(), books.orders.len());
        let extra = entries.iter().filter(|e| e.state == State::Held);
        let extra: i128 = extra.map(|e| i128::from(e.units.get()) - 1).sum();
        assert_eq!(books.extra.map(i128::from), Some(extra.min(i64::MAX.into())));
        // Each user's units are those of the orders.
        let live = entries.iter().filter(|e| e.state.is_live());
        let units: i128 = live.map(|e| i128::from(e.units.get())).sum();
        let waiting = entries.iter().filter(|e| e.state == State::Waiting).count();
        let beyond_one = units - books.units.len() as i128 + waiting as i128;
        if let Some(found) = books.beyond_one.filter(|_| units <= i64::MAX.into()) {
            assert_eq!(i128::from(found), beyond_one);
        }
        let live: BTreeSet<_> =
            entries.iter().filter(|e| e.state.is_live()).map(|e| e.user.to_vec()).collect();
        assert_eq!(live, books.buyers);
        // No real sale has sums beyond 64 bits.
        let all = i128::from(left.expect("a stock")) + held + sold;
        assert!(all == i128::from(total) || all > i64::MAX.into());
    }
}
