//! What an end with losses may lose: only the end of the history, and only whole commands.
//!
//! Many answers leave something that no later command removes: an entry of a stream, or a final
//! state of an order. If the effect of one command is there, then the effects of all commands that
//! were answered before it was sent must be there, too.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::load::{Log, Sent};
use crate::world::{Entry, Order, State};

/// The lasting effects of answers in a state, indexed.
pub struct Evidence<'s> {
    orders: BTreeSet<(&'s str, &'s str, &'s str)>,
    by_keys: BTreeSet<(&'s str, &'s str, &'s str)>,
    cancelled: BTreeSet<(&'s str, &'s str, &'s str)>,
    confirmed: BTreeSet<(&'s str, &'s str, &'s str)>,
    books: &'s BTreeMap<String, BTreeMap<String, Order>>,
    /// Orders whose try was answered 0 or 6 before: a repeated try appends nothing, and one that is
    /// answered 0 after 6 has not got the units itself.
    told: BTreeSet<[String; 3]>,
    /// The reasons of dead letters, which name the command.
    letters: BTreeSet<&'s str>,
    /// How often a user drew a code. A code can be put back and drawn again.
    draws: BTreeMap<[String; 2], usize>,
}

/// Voucher, user and order id of entries.
fn orders_of<'s>(
    entries: impl Iterator<Item = &'s Entry>,
) -> BTreeSet<(&'s str, &'s str, &'s str)> {
    entries.map(|entry| (entry.of("voucherId"), entry.of("userId"), entry.of("id"))).collect()
}

impl<'s> Evidence<'s> {
    pub fn of(state: &'s State) -> Self {
        let mut draws = BTreeMap::new();
        for entry in &state.draws {
            *draws
                .entry(["userId", "code"].map(|field| entry.of(field).to_owned()))
                .or_default() += 1;
        }
        Self {
            orders: orders_of(state.orders.iter()),
            by_keys: orders_of(state.by_keys.iter()),
            cancelled: orders_of(
                state.released.iter().filter(|entry| entry.of("reason") == "cancelled"),
            ),
            // A payment that found the order in the queue has an entry, too.
            confirmed: orders_of(state.confirmations()),
            books: &state.books,
            told: BTreeSet::new(),
            letters: state.letters.iter().map(|letter| letter.of("dlqReason")).collect(),
            draws,
        }
    }

    /// Is the effect of an answer there? None for answers without a lasting effect.
    ///
    /// Call it for the answers of a connection in their order.
    pub fn is_there(&mut self, sent: &Sent) -> Option<bool> {
        let words: Vec<_> = sent.words.iter().map(String::as_str).collect();
        let outcome = sent.outcome()?;
        match (words.as_slice(), outcome) {
            (["SECKILL.TRY", voucher, ..], _) if voucher.starts_with('t') => None,
            (["SECKILL.TRY", voucher, user, id, ..], 0 | 6) => {
                let made = sent.second();
                let id = made.as_deref().unwrap_or(id);
                let is_new = self.told.insert([voucher, user, id].map(str::to_owned));
                is_new.then(|| match outcome {
                    0 => self.orders.contains(&(voucher, user, id)),
                    // A server that was promoted may make the same id for another user.
                    _ => self.books[*voucher].get(id).is_some_and(|order| order.user == *user),
                })
            }
            (["SECKILL.TRYKEYS", "k.stock", _, _, voucher, user, id, ..], 0) => {
                Some(self.by_keys.contains(&(voucher, user, id)))
            }
            (["SECKILL.CANCEL", voucher, user, id], 1) => {
                // What ends in the queue has no entry.
                let order = self.books.get(*voucher).and_then(|book| book.get(*id));
                let has_left = order.is_some_and(|it| it.had_no_units && it.state == "cancelled");
                Some(has_left || self.cancelled.contains(&(voucher, user, id)))
            }
            (["SECKILL.CONFIRM", voucher, user, id, ..], 1) => {
                Some(self.confirmed.contains(&(voucher, user, id)))
            }
            (["SECKILL.REJECT", _, _, _, "REASON", reason], 1) => {
                Some(self.letters.contains(reason))
            }
            (["SECKILL.DRAW", _, user], 0) => {
                let code = sent.second().expect("a code");
                let left = self.draws.get_mut(&[(*user).to_owned(), code]);
                let left = left.filter(|left| **left > 0);
                Some(left.map(|left| *left -= 1).is_some())
            }
            _ => None,
        }
    }
}

/// Fails unless the lost part is the end of the history. Returns how many answers were lost, and
/// the time of the oldest.
pub fn assert_suffix_lost(state: &State, logs: &[Log]) -> (usize, Option<Instant>) {
    let mut evidence = Evidence::of(state);
    let mut lost: Vec<&Sent> = Vec::new();
    let mut kept: Option<&Sent> = None;
    for sent in logs.iter().flatten() {
        match evidence.is_there(sent) {
            Some(true) if kept.is_none_or(|kept| kept.at < sent.at) => kept = Some(sent),
            Some(false) => lost.push(sent),
            _ => {}
        }
    }
    let answered = |sent: &&&Sent| sent.back.as_ref().map(|(at, _)| *at);
    let oldest = lost.iter().min_by_key(answered);
    let at = oldest.as_ref().and_then(answered);
    if let (Some(at), Some(kept), Some(oldest)) = (at, kept, oldest) {
        assert!(kept.at <= at, "lost: {oldest:?}, though this is there: {kept:?}");
    }
    (lost.len(), at)
}
