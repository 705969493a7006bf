//! Managed orders, compared with the answers that their connections got.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::{Log, Sent};
use crate::world::{MANAGED, State};

/// The answers about one order.
#[derive(Default)]
struct Heard {
    /// A try was answered 0.
    sold: bool,
    /// A try was answered 6.
    waited: bool,
    /// A try got no answer.
    maybe_sold: bool,
    cancelled: bool,
    confirmed: bool,
    maybe_cancelled: bool,
    maybe_confirmed: bool,
    /// The reference with which it was confirmed.
    reference: Option<String>,
    /// Answers that only a released order gets: 5, 3 for a confirmation or an extension, 2
    /// for a cancellation.
    released: bool,
}

impl Heard {
    fn hear(&mut self, sent: &Sent) {
        match (sent.words[0].as_str(), sent.outcome()) {
            ("SECKILL.TRY", Some(0)) => self.sold = true,
            ("SECKILL.TRY", Some(5)) => self.released = true,
            ("SECKILL.TRY", Some(6)) => self.waited = true,
            ("SECKILL.TRY", None) => self.maybe_sold |= sent.is_open(),
            ("SECKILL.CANCEL", Some(1)) => self.cancelled = true,
            ("SECKILL.CANCEL", Some(2)) => self.released = true,
            ("SECKILL.CANCEL", None) => self.maybe_cancelled |= sent.is_open(),
            ("SECKILL.CONFIRM", Some(1)) => {
                self.confirmed = true;
                self.reference = sent.words.get(5).cloned();
            }
            ("SECKILL.CONFIRM" | "SECKILL.EXTEND", Some(3 | 4)) => self.released = true,
            // It may have got the first payment.
            ("SECKILL.CONFIRM", Some(2)) => self.maybe_confirmed = true,
            ("SECKILL.CONFIRM", None) => self.maybe_confirmed |= sent.is_open(),
            _ => {}
        }
    }
}

/// Fails unless every order in the books agrees with its connection's answers, and every answered
/// order is in the books. Nothing may have been lost.
pub fn check(state: &State, logs: &[Log]) {
    let mut heard: BTreeMap<[&str; 3], Heard> = BTreeMap::new();
    // Users with tries whose ids no answer has named.
    let mut nameless: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    let mut made = BTreeSet::new();
    for sent in logs.iter().flatten() {
        let [name, voucher, user, id, ..] = sent.words.as_slice() else { continue };
        if !state.books.contains_key(voucher) || !name.starts_with("SECKILL.") {
            continue;
        }
        if id != "*" {
            heard.entry([voucher, user, id]).or_default().hear(sent);
        } else if sent.is_open() {
            *nameless.entry((voucher, user)).or_default() += 1;
        } else if let Some(id) = sent.second() {
            assert!(made.insert(id.clone()), "the id {id} was made twice");
            let order = &state.books[voucher].get(&id);
            assert!(order.is_some_and(|order| order.user == *user), "{id} of {user}: {order:?}");
        }
    }
    let paid = state.confirmations();
    let confirmed: BTreeSet<_> =
        paid.map(|entry| ["voucherId", "userId", "id"].map(|field| entry.of(field))).collect();
    for ([voucher, user, id], heard) in &heard {
        let order = state.books[*voucher].get(*id);
        let is_known = heard.sold || heard.waited;
        assert!(order.is_some() || !is_known, "{voucher} {user} {id} was accepted and is lost");
        let Some(order) = order.filter(|order| order.user == *user) else {
            continue;
        };
        assert!(is_known || heard.maybe_sold || heard.released, "{id} was never accepted");
        let is = order.state.as_str();
        let is_over = !["held", "sold", "waiting"].contains(&is);
        assert!(!order.had_no_units || !heard.sold, "{id} was sold and is {is} without units");
        assert!(!heard.cancelled || is == "cancelled", "{id} was cancelled and is {is}");
        assert!(!heard.released || is_over, "{id} was given back and is {is}");
        if heard.confirmed {
            assert!(is != "held" && is != "expired", "{id} was confirmed and is {is}");
        }
        let is_confirmed = confirmed.contains(&[*voucher, *user, *id]);
        assert!(is_confirmed || !heard.confirmed, "{id}: its confirmation has no entry");
        if let Some(reference) = &heard.reference {
            assert_eq!(order.reference, *reference, "the payment of {id}");
        }
        let was_asked = heard.confirmed || heard.maybe_confirmed;
        assert!(was_asked || !is_confirmed, "{id}: an entry of a confirmation nobody sent");
        if is == "cancelled" {
            assert!(heard.cancelled || heard.maybe_cancelled, "{id}: nobody cancelled it");
        }
        if is == "sold" && *voucher == "m" {
            assert!(heard.confirmed || heard.maybe_confirmed, "{id}: nobody confirmed it");
        }
    }
    for (voucher, ..) in MANAGED {
        for (id, order) in &state.books[voucher] {
            if heard.contains_key(&[voucher, &order.user, id]) {
                continue;
            }
            // Scripts use only orders whose ids they have chosen.
            let is = order.state.as_str();
            assert!(is != "cancelled" && (voucher, is) != ("m", "sold"), "{id} is {is}");
            let is_known = made.contains(id);
            if !is_known {
                let left = nameless.get_mut(&(voucher, order.user.as_str()));
                let left = left.filter(|left| **left > 0);
                *left.unwrap_or_else(|| panic!("{id}: nobody tried for {order:?}")) -= 1;
            }
        }
    }
}
