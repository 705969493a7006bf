//! A managed sale with the rules alone, written into the book as the commands write it, compared
//! with a list of orders; and the audit of this sale, and of arbitrary keys.

use std::collections::{BTreeMap, BTreeSet};

use domain::audit::{Figures, Maps, Progress};
use domain::book::{Entry, Holding, State};
use domain::managed::{
    self, Cancellation, Confirmation, Known, accepted, known, refuse, stock_after_return,
};
use domain::sale::{Offer, Outcome, Policy, Stock, Units, offer};
use domain::terms::Terms;

use crate::input::Input;

type Bytes = Vec<u8>;

/// The contents of the voucher's keys.
struct Sale {
    terms: Terms,
    left: i64,
    now: i64,
    book: BTreeMap<Bytes, Bytes>,
    holdings: BTreeMap<Bytes, Bytes>,
}

/// The model: every order that was ever accepted, with its user and the units that it still has.
type Model = BTreeMap<Bytes, (Bytes, i64)>;

/// Never more than the stock is sold, no user has more than the limit, and the audit agrees.
pub(crate) fn sales(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let begin = input.flag().then(|| i64::from(input.byte()));
    let end = input.flag().then(|| 100 + i64::from(input.byte()) * 4);
    let hold = input.flag().then(|| 1 + i64::from(input.byte()));
    let (total, limit) = (i64::from(input.below(30)), 1 + i64::from(input.below(6)));
    let Ok(terms) = (Terms { total, begin, end, limit, hold, sale: None }).checked() else {
        return;
    };
    let (book, holdings) = (BTreeMap::new(), BTreeMap::new());
    let mut sale = Sale { terms, left: total, now: 0, book, holdings };
    let mut model = Model::new();
    while !input.is_empty() {
        sale.now += i64::from(input.below(9));
        let user = vec![b'a' + input.below(4), b':'];
        let id = vec![b'0' + input.below(24)];
        match input.below(7) {
            6 => sale.extend(&user, &id, 1 + i64::from(input.byte())),
            0 => sale.confirm(&user, &id, &model),
            1 => {
                let states = [None, Some(State::Held), Some(State::Sold)];
                let only = states[usize::from(input.below(3))];
                sale.cancel(&user, &id, only, &mut model);
            }
            2 => sale.expire(&mut model),
            _ => sale.attempt(&user, &id, 1 + i64::from(input.below(3)), &mut model),
        }
        sale.check(&model);
    }
}

impl Sale {
    fn attempt(&mut self, user: &Bytes, id: &Bytes, units: i64, model: &mut Model) {
        let units = Units::new(units).expect("above 0");
        if let Some(text) = self.book.get(id).cloned() {
            let entry = Entry::parse(&text).expect("what was written");
            let (owner, has) = &model[id];
            match known(&entry, user, units, self.now) {
                Known::Another => assert!(owner != user || *has > 0 && *has != units.get()),
                Known::Overdue => {
                    assert!(*has > 0 && self.terms.hold.is_some());
                    self.give_back(id, State::Expired, model);
                }
                Known::Repeated(Outcome::Accepted) => {
                    assert!(owner == user && *has == units.get());
                }
                Known::Repeated(outcome) => {
                    assert_eq!((outcome, *has), (Outcome::Released, 0));
                }
            }
            return;
        }
        let has: i64 =
            model.values().filter(|(owner, _)| owner == user).map(|(_, units)| units).sum();
        let Terms { begin, end, limit, .. } = self.terms;
        match refuse(&self.terms, self.now, has, units) {
            Some(Outcome::NotStarted) => return assert!(begin.is_some_and(|ms| self.now < ms)),
            Some(Outcome::Ended) => return assert!(end.is_some_and(|ms| self.now >= ms)),
            Some(outcome) => {
                assert_eq!(outcome, Outcome::AlreadyBought);
                return assert!(has + units.get() > limit);
            }
            None => assert!(has + units.get() <= limit),
        }
        match offer(Stock::Left(self.left), units, Policy::default()) {
            Ok(Offer::Take { left }) => self.left = left,
            other => {
                assert_eq!(other, Ok(Offer::SoldOut));
                return assert!(self.left < units.get());
            }
        }
        let (state, deadline) = accepted(&self.terms, self.now);
        self.book
            .insert(id.clone(), Entry { state, units, deadline, reference: None, user }.write());
        let all = Units::new(has + units.get()).expect("above 0");
        self.holdings.insert(user.clone(), Holding { units: all, order: id }.write());
        model.insert(id.clone(), (user.clone(), units.get()));
    }

    fn confirm(&mut self, user: &Bytes, id: &Bytes, model: &Model) {
        let text = self.book.get(id).cloned();
        let entry = text.as_ref().map(|text| Entry::parse(text).expect("what was written"));
        let live = model.get(id).filter(|(owner, _)| owner == user);
        match (managed::confirm(entry.as_ref(), user, self.now), entry) {
            (Confirmation::NoSuchOrder, _) => assert!(live.is_none()),
            (Confirmation::TooLate, _) => assert!(live.is_some()),
            (Confirmation::WasSold, _) => assert!(live.is_some_and(|(_, units)| *units > 0)),
            (Confirmation::Confirmed, Some(entry)) => {
                assert!(entry.deadline > self.now && live.is_some_and(|(_, units)| *units > 0));
                let sold = Entry { state: State::Sold, deadline: 0, ..entry };
                self.book.insert(id.clone(), sold.write());
            }
            (Confirmation::Confirmed, None) => panic!("there is no order"),
        }
    }

    fn extend(&mut self, user: &Bytes, id: &Bytes, ms: i64) {
        let Some(text) = self.book.get(id).cloned() else { return };
        let entry = Entry::parse(&text).expect("what was written");
        if managed::confirm(Some(&entry), user, self.now) == Confirmation::Confirmed {
            let longer = managed::extended(&entry, self.now, ms);
            assert!(longer.deadline >= entry.deadline && longer.deadline >= self.now + ms);
            assert!([entry.deadline, self.now + ms].contains(&longer.deadline));
            self.book.insert(id.clone(), longer.write());
        }
    }

    fn cancel(&mut self, user: &Bytes, id: &Bytes, only: Option<State>, model: &mut Model) {
        let text = self.book.get(id).cloned();
        let entry = text.as_ref().map(|text| Entry::parse(text).expect("what was written"));
        let has = model.get(id).filter(|(owner, _)| owner == user).map(|(_, units)| *units);
        let answer = managed::cancel(entry.as_ref(), user, only);
        assert_eq!(answer == Cancellation::NoSuchOrder, has.is_none());
        assert_eq!(answer == Cancellation::WasReleased, has == Some(0));
        if answer == Cancellation::InAnotherState {
            assert!(has > Some(0) && only.is_some() && only != entry.map(|entry| entry.state));
        }
        if answer == Cancellation::Released {
            self.give_back(id, State::Cancelled, model);
        }
    }

    fn expire(&mut self, model: &mut Model) {
        let entries = self.book.iter().map(|(id, text)| (id, Entry::parse(text)));
        let due = entries.filter_map(|(id, entry)| {
            let entry = entry.expect("what was written");
            (entry.state == State::Held && entry.deadline <= self.now).then(|| id.clone())
        });
        for id in due.collect::<Vec<_>>() {
            self.give_back(&id, State::Expired, model);
        }
    }

    fn give_back(&mut self, id: &Bytes, state: State, model: &mut Model) {
        let text = self.book[id].clone();
        let entry = Entry::parse(&text).expect("what was written");
        self.left = stock_after_return(self.left, entry.units, self.terms.total);
        self.book.insert(id.clone(), Entry { state, deadline: 0, ..entry }.write());
        let user = entry.user.to_vec();
        let holding = self.holdings[&user].clone();
        let holding = Holding::parse(&holding).expect("what was written");
        match Units::new(holding.units.get() - entry.units.get()) {
            Some(units) => self.holdings.insert(user, Holding { units, ..holding }.write()),
            None => self.holdings.remove(&user),
        };
        model.get_mut(id).expect("an order").1 = 0;
    }

    fn check(&self, model: &Model) {
        let units: i64 = model.values().map(|(_, units)| units).sum();
        assert_eq!(self.left, self.terms.total - units, "a unit was lost or sold twice");
        let maps = Maps::of(self.terms.total, self.left, self.book.clone(), self.holdings.clone());
        let report = maps.audit();
        assert_eq!(report.differences, Vec::<String>::new());
        assert_eq!(report.held + report.sold, units);
        // One unit too many is noticed, in the stock and in the count of held units.
        let tampered = Maps { left: Some(self.left + 1), ..maps.clone() };
        assert_eq!(tampered.audit().differences.len(), 1);
        let tampered = Maps { extra: maps.extra.map(|extra| extra + 1), ..maps };
        assert_eq!(tampered.audit().differences.len(), 1);
    }
}

/// The audit of keys with arbitrary contents: if it finds no difference, the sums are right.
pub(crate) fn audits(bytes: &[u8]) {
    let now = Figures::default();
    if let Some(progress) = Progress::at(bytes, &now) {
        assert_eq!(Progress::at(&progress.cursor(), &now), Some(progress));
    }
    let mut input = Input::new(bytes);
    let (total, left) = (input.number(), input.flag().then(|| input.number()));
    let mut books = Maps { total, left, extra: Some(0), ..Maps::default() };
    while !input.is_empty() {
        let user = vec![b'a' + input.below(3)];
        let id = books.orders.len().to_string().into_bytes();
        let number = input.number();
        match (input.below(6), Units::new(number)) {
            (0, _) => drop(books.orders.insert(id, input.word().to_vec())),
            (1, Some(units)) => {
                books.holdings.insert(user, Holding { units, order: b"o" }.write());
            }
            (2, _) => drop(books.buyers.insert(user)),
            (4, None) => books.extra = input.flag().then_some(number),
            (3, _) => books.holds.extend([(id, number)]),
            (_, Some(units)) => {
                let entry =
                    Entry { state: State::Sold, units, deadline: 0, reference: None, user: &user };
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
        let live: BTreeSet<_> =
            entries.iter().filter(|e| e.state.is_live()).map(|e| e.user.to_vec()).collect();
        assert_eq!(live, books.buyers);
        // No real sale has sums beyond 64 bits.
        let all = i128::from(left.expect("a stock")) + held + sold;
        assert!(all == i128::from(total) || all > i64::MAX.into());
    }
}
