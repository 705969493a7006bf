//! Batches of tries, some of them not written yet, compared with the same tries written one by one.

use std::collections::{BTreeMap, BTreeSet};

use domain::batch::Pending;
use domain::book::{Entry, State};
use domain::managed::{Known, known, refuse};
use domain::sale::{Offer, Outcome, Policy, Stock, Units, offer};
use domain::terms::Terms;

use crate::input::Input;

/// The outcome of a try; none for an order id of another user, or another error.
type Answer = Option<Outcome>;

pub(crate) fn batches(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let users: Vec<Vec<u8>> = (0..6).map(|user| vec![b'a' + user]).collect();
    let ids: Vec<Vec<u8>> = (0..24).map(|id| vec![b'0' + id]).collect();
    if input.flag() {
        unmanaged(&mut input, &users);
    } else {
        managed(&mut input, &users, &ids);
    }
}

/// The keys of an unmanaged voucher.
#[derive(Clone, Debug, PartialEq)]
struct Shelf {
    stock: Stock,
    buyers: BTreeSet<Vec<u8>>,
}

impl Shelf {
    /// One try, written at once. The stream may be full.
    fn sell(&mut self, user: &[u8], policy: Policy, has_room: bool) -> Answer {
        let left = match offer(self.stock, Units::ONE, policy).ok()? {
            Offer::SoldOut => return Some(Outcome::SoldOut),
            _ if self.buyers.contains(user) => return Some(Outcome::AlreadyBought),
            _ if !has_room => return None,
            Offer::Take { left } => Stock::Left(left),
            Offer::Unlimited => self.stock,
        };
        self.stock = left;
        self.buyers.insert(user.to_vec());
        Some(Outcome::Accepted)
    }
}

fn unmanaged(input: &mut Input<'_>, users: &[Vec<u8>]) {
    let policy = Policy { missing_is_sold_out: input.flag(), minus_one_is_unlimited: input.flag() };
    let stock = match input.below(8) {
        0 => Stock::Missing,
        1 => Stock::Left(-1),
        2 => Stock::Left(input.number()),
        _ => Stock::Left(i64::from(input.below(6))),
    };
    let mut alone = Shelf { stock, buyers: BTreeSet::new() };
    let mut keys = alone.clone();
    let mut pending = Pending::of(users.len());
    let mut accepted: Vec<&[u8]> = Vec::new();
    while !input.is_empty() {
        let user = users[usize::from(input.below(6))].as_slice();
        let has_room = input.below(8) > 0;
        let answer = pending.offer(keys.stock, policy).ok().and_then(|offer| {
            match pending.admit(user, offer, keys.buyers.contains(user)) {
                None if has_room => {
                    accepted.push(user);
                    Some(Outcome::Accepted)
                }
                None => {
                    pending.dismiss(user, offer);
                    None
                }
                refused => refused,
            }
        });
        assert_eq!(answer, alone.sell(user, policy, has_room));
        if input.below(6) == 0 || input.is_empty() {
            // All pending tries are written.
            if let Stock::Left(left) = keys.stock {
                keys.stock = Stock::Left(pending.after_all(left).unwrap_or(left));
            }
            keys.buyers.extend(accepted.drain(..).map(<[u8]>::to_vec));
            pending.clear();
            assert_eq!(keys, alone);
        }
    }
}

/// The keys of a managed voucher that tries use. An order is live, or was released.
#[derive(Clone, Debug, PartialEq)]
struct Sale {
    left: i64,
    book: BTreeMap<Vec<u8>, (Vec<u8>, bool)>,
}

impl Sale {
    fn units_of(&self, user: &[u8]) -> i64 {
        self.book.values().filter(|(owner, is_live)| owner == user && *is_live).count() as i64
    }

    fn known(&self, id: &[u8], user: &[u8]) -> Option<Known> {
        let (owner, is_live) = self.book.get(id)?;
        let state = if *is_live { State::Sold } else { State::Cancelled };
        let entry = Entry { state, units: Units::ONE, deadline: 0, reference: None, user: owner };
        Some(known(&entry, user, Units::ONE, 0))
    }

    /// One try, written at once.
    fn sell(&mut self, user: &[u8], id: &[u8], terms: &Terms) -> Answer {
        match self.known(id, user) {
            Some(Known::Repeated(outcome)) => return Some(outcome),
            Some(_) => return None,
            None => {}
        }
        if let Some(outcome) = refuse(terms, 0, self.units_of(user), Units::ONE) {
            return Some(outcome);
        }
        if self.left < 1 {
            return Some(Outcome::SoldOut);
        }
        self.left -= 1;
        self.book.insert(id.to_vec(), (user.to_vec(), true));
        Some(Outcome::Accepted)
    }
}

fn managed(input: &mut Input<'_>, users: &[Vec<u8>], ids: &[Vec<u8>]) {
    let (left, limit) = (i64::from(input.below(12)), 1 + i64::from(input.below(4)));
    let terms = Terms { total: 99, begin: None, end: None, limit, hold: None, sale: None };
    let mut alone = Sale { left, book: BTreeMap::new() };
    let mut keys = alone.clone();
    let mut pending = Pending::of(ids.len());
    let mut accepted: Vec<(&[u8], &[u8])> = Vec::new();
    while !input.is_empty() {
        let user = users[usize::from(input.below(6))].as_slice();
        let id = ids[usize::from(input.below(24))].as_slice();
        let has = keys.units_of(user) + pending.units_of(user);
        let answer = match pending.known(id, user).or_else(|| keys.known(id, user)) {
            Some(Known::Repeated(outcome)) => Some(outcome),
            Some(_) => None,
            None => refuse(&terms, 0, has, Units::ONE).or_else(|| {
                if pending.after_next(keys.left).is_none() {
                    return Some(Outcome::SoldOut);
                }
                pending.enter(user, id);
                accepted.push((user, id));
                Some(Outcome::Accepted)
            }),
        };
        assert_eq!(answer, alone.sell(user, id, &terms));
        if input.below(6) == 0 || input.is_empty() {
            keys.left = pending.after_all(keys.left).unwrap_or(keys.left);
            let orders = accepted.drain(..);
            keys.book.extend(orders.map(|(user, id)| (id.to_vec(), (user.to_vec(), true))));
            pending.clear();
            assert_eq!(keys, alone);
            // An order is released between two batches.
            if let Some(id) = ids.get(usize::from(input.byte()))
                && keys.book.get(id).is_some_and(|(_, is_live)| *is_live)
            {
                for sale in [&mut keys, &mut alone] {
                    sale.left += 1;
                    sale.book.get_mut(id).expect("an order").1 = false;
                }
            }
        }
    }
}
