//! The entries that consumers have read, compared with the answers: each is pending, was
//! acknowledged, or is one dead letter.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::{Log, Sent};
use crate::whole::of;
use crate::world::{Entry, State};

/// The reason in a dead letter whose command gave none.
const NO_REASON: &str = "unspecified";

/// The fields of a dead letter that come from its order.
fn fields_of_order(letter: &Entry) -> BTreeMap<&str, &str> {
    let fields = letter.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    fields.filter(|(name, _)| !name.starts_with("dlq")).collect()
}

/// Fails unless each dead letter has the fields of an entry that is not pending, is the only one of
/// this entry, and agrees with the other keys about the order.
pub fn assert_whole(state: &State) {
    let entries: BTreeMap<_, _> =
        state.orders.iter().map(|entry| (entry.id.as_str(), entry)).collect();
    let mut seen = BTreeSet::new();
    for letter in &state.letters {
        let id = letter.of("dlqId");
        assert!(seen.insert(id), "{letter:?} twice");
        assert!(!state.pending.contains(id), "{letter:?} is pending");
        let Some(entry) = entries.get(id) else { panic!("{letter:?} is of no entry") };
        let fields: BTreeMap<_, _> =
            entry.fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(fields_of_order(letter), fields, "{letter:?}");
        let source = ["dlqStream", "dlqGroup"].map(|name| letter.of(name));
        assert_eq!(source, ["stream.orders", "g"], "{letter:?}");
        let deliveries = letter.of("dlqDeliveries").parse::<u64>();
        assert!(deliveries.is_ok_and(|count| count > 0), "{letter:?}");
    }
    managed(state);
    unmanaged(state);
}

/// The fates of a voucher's orders by the dead letters: order id to word.
fn fates<'s>(state: &'s State, voucher: &str) -> BTreeMap<&'s str, &'s str> {
    of(&state.letters, voucher).map(|letter| (letter.of("id"), letter.of("dlqOrder"))).collect()
}

/// The book tells whether an order of a managed voucher was rejected, and the entry of its release
/// tells its state until then.
fn managed(state: &State) {
    for (voucher, book) in &state.books {
        let rejected =
            of(&state.released, voucher).filter(|entry| entry.of("reason") == "rejected");
        let was: BTreeMap<_, _> =
            rejected.map(|entry| (entry.of("id"), entry.fields.get("was"))).collect();
        for letter in of(&state.letters, voucher) {
            let released = was.get(letter.of("id")).copied().flatten();
            let said = letter.fields.get("dlqWas");
            let is_rejected = letter.of("dlqOrder") == "rejected";
            assert_eq!(said, released.filter(|_| is_rejected), "{letter:?}");
        }
        let fates = fates(state, voucher);
        for (id, order) in book {
            let is = order.state.as_str();
            let agrees = match fates.get(id.as_str()) {
                None => is != "rejected",
                Some(&"rejected") => is == "rejected",
                Some(&"released") => is == "cancelled" || is == "expired",
                Some(_) => false,
            };
            assert!(agrees, "{voucher} {id} is {is}: {:?}", fates.get(id.as_str()));
        }
    }
}

/// The entry of its release tells whether an order of the unmanaged voucher was rejected.
fn unmanaged(state: &State) {
    let released: BTreeMap<_, _> =
        of(&state.released, "u").map(|entry| (entry.of("id"), entry.of("reason"))).collect();
    let letters = fates(state, "u");
    for (id, fate) in &letters {
        let reason = released.get(id).copied();
        match *fate {
            "rejected" => assert_eq!(reason, Some("rejected"), "{id}"),
            // The buyer was no longer in the set.
            "unknown" => assert!(reason.is_some_and(|reason| reason != "rejected"), "{id}"),
            _ => panic!("{id} is {fate}"),
        }
    }
    for (id, reason) in released {
        let is_rejected = letters.get(id) == Some(&"rejected");
        assert_eq!(is_rejected, reason == "rejected", "{id} was {reason}: {:?}", letters.get(id));
    }
}

/// The numbers of an entry's id, which increase along the stream.
fn numbers(id: &str) -> (u64, u64) {
    let (ms, count) = id.split_once('-').expect("an id");
    (ms.parse().expect("ms"), count.parse().expect("a count"))
}

/// The entry that a command names, and its reason.
fn rejection(sent: &Sent) -> Option<(&str, &str)> {
    let words: Vec<_> = sent.words.iter().map(String::as_str).collect();
    match words[..] {
        ["SECKILL.REJECT", _, _, id] => Some((id, NO_REASON)),
        ["SECKILL.REJECT", _, _, id, "REASON", reason] => Some((id, reason)),
        _ => None,
    }
}

/// Fails unless each rejection that was answered 1 left its dead letter, each dead letter was
/// requested, and each delivered entry is accounted for. Nothing may have been lost.
pub fn check(state: &State, logs: &[Log]) {
    let letters: BTreeSet<_> =
        state.letters.iter().map(|letter| (letter.of("dlqId"), letter.of("dlqReason"))).collect();
    let mut rejected = BTreeSet::new();
    let mut acknowledged = BTreeSet::new();
    for sent in logs.iter().flatten().filter(|sent| sent.is_open() || sent.outcome() == Some(1)) {
        if let Some(rejection) = rejection(sent) {
            assert!(sent.is_open() || letters.contains(&rejection), "lost: {sent:?}");
            rejected.insert(rejection);
        } else if sent.is("XACK") {
            acknowledged.insert(sent.words[3].as_str());
        }
    }
    for letter in &letters {
        assert!(rejected.contains(letter), "nobody rejected {letter:?}");
    }
    let done: BTreeSet<_> = letters.iter().map(|(id, _)| *id).collect();
    let last = numbers(&state.delivered);
    for entry in state.orders.iter().filter(|entry| numbers(&entry.id) <= last) {
        let id = entry.id.as_str();
        let is_known = state.pending.contains(id) || done.contains(id) || acknowledged.contains(id);
        assert!(is_known, "read, and then lost without a dead letter: {entry:?}");
    }
}
