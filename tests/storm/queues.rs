//! The queue of the voucher m, compared with the answers: first come, first served.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::load::Log;
use crate::whole::of;
use crate::world::State;

/// When the try was sent by which an order joined the queue, and when it was answered.
type Joined = (Instant, Option<Instant>);

/// Fails if an order was promoted, or waits, before one that was in the queue when it was tried
/// for. The state may lack the end of the history.
pub fn check(state: &State, logs: &[Log]) {
    // By user, too: a server that was promoted may make an id that its primary has made, too.
    let mut joined: BTreeMap<(String, String), Joined> = BTreeMap::new();
    for sent in logs.iter().flatten().filter(|sent| sent.is_open() || sent.outcome() == Some(6)) {
        if let [name, voucher, user, id, ..] = sent.words.as_slice()
            && (name.as_str(), voucher.as_str()) == ("SECKILL.TRY", "m")
        {
            let id = sent.second().unwrap_or_else(|| id.clone());
            let answered = sent.back.as_ref().map(|(at, _)| *at);
            joined.entry((user.clone(), id)).or_insert((sent.at, answered));
        }
    }
    let promoted = of(&state.orders, "m").filter(|entry| !entry.of("waited").is_empty());
    let promoted = promoted.map(|entry| (entry.of("userId"), entry.of("id")));
    let waiting = state.queue.iter().map(|id| (state.books["m"][id].user.as_str(), id.as_str()));
    let mut last: Option<(Instant, &str)> = None;
    for (user, id) in promoted.chain(waiting) {
        let Some((sent, answered)) = joined.get(&(user.to_owned(), id.to_owned())) else {
            // Whoever let the server make the id may not have got the answer.
            assert!(!id.starts_with('o'), "{id} never asked to wait");
            continue;
        };
        if let (Some(answered), Some((tried, before))) = (answered, last) {
            assert!(tried <= *answered, "{before} overtook {id}");
        }
        last = last.max(Some((*sent, id)));
    }
}
