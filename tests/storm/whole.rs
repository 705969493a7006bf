//! What must be true of the keys alone, whatever was sent and lost: no command is half done,
//! nothing is sold twice, and all sums are right.

use std::collections::{BTreeMap, BTreeSet};

use crate::harness::{Server, wait_for};
use crate::rejected;
use crate::script::is_of_cart;
use crate::world::{self, CARTS, Entry, MANAGED, STREAMS, State, UNMANAGED, ask};

/// Fails unless the keys agree with each other; returns them.
pub fn assert_whole(server: &Server) -> State {
    let state = State::read(server);
    for (voucher, _, limit) in MANAGED {
        managed(server, &state, voucher, limit);
    }
    carts(&state);
    unmanaged(server, &state);
    by_keys(server, &state);
    prizes(&state);
    rejected::assert_whole(&state);
    state
}

/// The entries of a voucher.
pub fn of<'s>(entries: &'s [Entry], voucher: &str) -> impl Iterator<Item = &'s Entry> {
    entries.iter().filter(move |entry| entry.of("voucherId") == voucher)
}

/// Entries by their order ids. Fails on an id with two entries.
fn by_id<'s>(entries: impl Iterator<Item = &'s Entry>, what: &str) -> BTreeMap<&'s str, &'s Entry> {
    let mut found = BTreeMap::new();
    for entry in entries {
        let before = found.insert(entry.of("id"), entry);
        assert!(before.is_none(), "{what} of {} twice: {before:?}, {entry:?}", entry.of("id"));
    }
    found
}

fn managed(server: &Server, state: &State, voucher: &str, limit: i64) {
    let differences = server.audited(voucher).differences();
    assert!(differences.is_empty(), "{voucher}: {differences:?}");
    let book = &state.books[voucher];
    assert!(voucher != "m" || !world::has_idle_units(server), "units are idle beside the queue");
    // Orders that have got their units are exactly the entries of the stream.
    let orders = by_id(of(&state.orders, voucher), "an order");
    let released = by_id(of(&state.released, voucher), "a give-back");
    // An order that was confirmed without a reference may have got one since, by another entry.
    let confirmations = state.confirmations().filter(|entry| entry.of("voucherId") == voucher);
    let (firsts, unpaid): (Vec<_>, Vec<_>) =
        confirmations.partition(|entry| entry.of("payment") == "first");
    let mut confirmed = by_id(firsts.into_iter(), "a first payment");
    confirmed.extend(by_id(unpaid.into_iter(), "a confirmation"));
    let sold = book.iter().filter(|(_, order)| !order.had_no_units).map(|(id, _)| id);
    assert!(orders.keys().eq(sold), "{voucher}: the stream and the book differ");
    let mut units: BTreeMap<&str, i64> = BTreeMap::new();
    // Every payment on record was announced once, for what it is on record; one that was of no
    // known order may have become another since, and was announced as unmatched before.
    let announced = of(&state.confirmed, voucher).map(|it| (it.of("ref"), it.of("payment")));
    let announced = announced.filter(|(reference, _)| !reference.is_empty());
    let (unmatched, mut announced): (Vec<_>, Vec<_>) =
        announced.partition(|(_, payment)| *payment == "unmatched");
    let payments = &state.payments[voucher];
    let unmatched: BTreeMap<&str, &str> = unmatched.into_iter().collect();
    announced.extend(unmatched.into_iter().filter(|(it, _)| payments[*it] == "unmatched"));
    assert_eq!(announced.len(), payments.len(), "{voucher}: payments");
    // Of an order that was sold and then released: announced as what it was at that time.
    let mut since_release: BTreeSet<&str> = BTreeSet::new();
    for (reference, payment) in announced {
        let is = &*payments[reference];
        let was_first = payment == "first" && is == "released";
        assert!(was_first || payment == is, "{voucher}: the payment {reference}: {payment}, {is}");
        if payment == "released" {
            since_release.insert(reference);
        }
    }
    for (id, order) in book {
        if order.state == "waiting" {
            *units.entry(&order.user).or_default() += order.units;
        }
        // It has no entries.
        if order.had_no_units {
            continue;
        }
        let entry = orders[id.as_str()];
        assert_eq!((entry.units(), entry.of("userId")), (order.units, order.user.as_str()), "{id}");
        if let Some(paid) = confirmed.get(id.as_str()) {
            let said = (paid.units(), paid.of("userId"));
            assert_eq!(said, (order.units, order.user.as_str()), "the confirmation of {id}");
            let reference = paid.of("ref");
            assert!(["", &order.reference].contains(&reference), "{id} was paid by {reference}");
        }
        let is_confirmed = confirmed.contains_key(id.as_str());
        match (order.state.as_str(), entry.of("deadline")) {
            // Sold at once, it has an entry if it was paid.
            ("sold", "") => assert_eq!(is_confirmed, !order.reference.is_empty(), "{id} is sold"),
            ("sold", _) => assert!(is_confirmed, "{id} is sold"),
            // Released later, from either state.
            ("cancelled" | "rejected", _) => {}
            (is, _) => assert!(!is_confirmed, "{id} was confirmed and is {is}"),
        }
        let back = released.get(id.as_str());
        let reason = back.map_or("", |back| back.of("reason"));
        match order.state.as_str() {
            "held" | "sold" => {
                assert_eq!(reason, "", "{id} is {}", order.state);
                *units.entry(&order.user).or_default() += order.units;
            }
            over => {
                assert_eq!(reason, over, "{id}");
                assert_eq!(back.map(|back| back.units()), Some(order.units), "{id}");
                let reference = &*order.reference;
                let known = if since_release.contains(reference) { "" } else { reference };
                assert_eq!(back.map(|back| back.of("ref")), Some(known), "{id}");
            }
        }
    }
    assert!(released.keys().all(|id| book.contains_key(*id)), "{voucher}: a give-back of nothing");
    let known = confirmed.keys().all(|id| book.contains_key(*id));
    assert!(known, "{voucher}: a confirmation of nothing");
    let over = units.iter().find(|(_, units)| **units > limit);
    assert_eq!(over, None, "{voucher}: above the limit");
}

/// A cart is in both books or in none, and its entries name its size.
fn carts(state: &State) {
    let of_carts = |voucher: &str| -> BTreeMap<&str, &str> {
        let orders = state.books[voucher].iter().filter(|(id, _)| is_of_cart(id));
        orders.map(|(id, order)| (id.as_str(), order.user.as_str())).collect()
    };
    for [one, other] in CARTS {
        assert_eq!(of_carts(one), of_carts(other), "half a cart");
    }
    for entry in &state.orders {
        let cart = if is_of_cart(entry.of("id")) { "2" } else { "" };
        assert_eq!(entry.of("cart"), cart, "{entry:?}");
    }
}

fn unmanaged(server: &Server, state: &State) {
    let orders = by_id(of(&state.orders, "u"), "an order");
    let released = by_id(of(&state.released, "u"), "a give-back");
    let users: BTreeSet<_> = orders.values().map(|entry| entry.of("userId")).collect();
    assert_eq!(users.len(), orders.len(), "a user bought twice");
    for (id, order) in &orders {
        let is_buyer = state.buyers.contains(order.of("userId"));
        assert_eq!(is_buyer, !released.contains_key(id), "{order:?}");
    }
    assert!(released.keys().all(|id| orders.contains_key(id)), "a give-back of nothing");
    assert_eq!(state.buyers.len(), orders.len() - released.len());
    let sum = |entries: &BTreeMap<&str, &Entry>| entries.values().map(|e| e.units()).sum::<i64>();
    let left: i64 = ask(server, "GET seckill:stock:u");
    assert_eq!(left, UNMANAGED - sum(&orders) + sum(&released), "stock of u");
    assert!(left >= 0);
}

fn by_keys(server: &Server, state: &State) {
    let left: i64 = ask(server, "GET k.stock");
    let orders = by_id(state.by_keys.iter(), "an order by keys");
    assert_eq!(left, UNMANAGED - orders.values().map(|entry| entry.units()).sum::<i64>());
    let users: BTreeSet<_> = orders.values().map(|entry| entry.of("userId").to_owned()).collect();
    assert_eq!(users.len(), orders.len(), "a user bought twice by keys");
    assert_eq!(ask::<BTreeSet<String>>(server, "SMEMBERS k.buyers"), users);
    let (left, buyers): (i64, i64) = (ask(server, "GET b.stock"), ask(server, "SCARD b.buyers"));
    assert_eq!(left + buyers, UNMANAGED, "sales without a stream");
}

fn prizes(state: &State) {
    let given = state.winners.values().chain(&state.codes).cloned();
    let mut given: Vec<_> = given.collect();
    given.sort();
    assert!(given.iter().eq(&world::codes()), "a prize code is lost or given twice");
    let draws: BTreeSet<_> =
        state.draws.iter().map(|entry| (entry.of("userId"), entry.of("code"))).collect();
    for (user, code) in &state.winners {
        assert!(draws.contains(&(user, code)), "{user} has {code}, which was not drawn");
    }
}

/// The keys that differ between two servers, with the digests of their values.
fn differing(one: &Server, other: &Server) -> Vec<(String, [String; 2])> {
    let names: BTreeSet<String> = keys(one).into_keys().chain(keys(other).into_keys()).collect();
    let digest = |server: &Server, name: &str| -> Vec<String> {
        ask(server, &format!("DEBUG DIGEST-VALUE {name}"))
    };
    let both = |name: String| {
        let digests = [one, other].map(|server| digest(server, &name).concat());
        (name, digests)
    };
    names.into_iter().map(both).filter(|(_, [one, other])| one != other).collect()
}

/// Fails unless both servers have the same keys and values, expiry times, ids of streams and
/// pending entries. The second is a replica, or was started from the files of the first.
pub fn assert_same(one: &Server, other: &Server) {
    let same = wait_for("equal digests", || (one.digest() == other.digest()).then_some(()));
    same.unwrap_or_else(|late| panic!("{late}: {:?}", differing(one, other)));
    assert_eq!(keys(one), keys(other));
    for stream in STREAMS {
        let last = |server: &Server| match ask::<i64>(server, &format!("EXISTS {stream}")) {
            0 => String::new(),
            _ => {
                let last = server.field(&format!("XINFO STREAM {stream}"), "last-generated-id");
                crate::harness::text(&last)
            }
        };
        assert_eq!(last(one), last(other), "{stream}");
    }
    let pending = |server: &Server| State::read(server).pending;
    assert_eq!(pending(one), pending(other));
}

/// Every key and its expiry.
fn keys(server: &Server) -> BTreeMap<String, i64> {
    let keys: Vec<String> = ask(server, "KEYS *");
    let expiry = |key: String| {
        let at = ask(server, &format!("PEXPIRETIME {key}"));
        (key, at)
    };
    // A lock whose lease has ended in between is gone.
    keys.into_iter().map(expiry).filter(|(_, at)| *at != -2).collect()
}
