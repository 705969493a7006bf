//! What locks promise, compared with the answers: fencing tokens grow, and only the owner has a
//! lock until the lease ends, is released, or, with SESSION, the connection closes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::load::{Log, Sent};

/// An answered acquisition or renewal.
struct Grant<'l> {
    token: &'l str,
    fence: i64,
    sent: Instant,
    answered: Instant,
    /// Until this time no other client can have the lock. The lease by the server's clock does not
    /// end before the lease that is counted from the sending, and the lock is the owner's until the
    /// owner sends another command about it. With SESSION it ends with the connection at the
    /// latest, which is open at least until its last command is sent.
    until: Instant,
}

/// The server's clocks count whole milliseconds.
const CLOCK_STEP: Duration = Duration::from_millis(2);

/// Fails if any answers about locks contradict each other; returns how many there were.
pub fn check(logs: &[Log]) -> usize {
    let mut locks: BTreeMap<&str, Vec<Grant<'_>>> = BTreeMap::new();
    for log in logs {
        for (index, sent) in log.iter().enumerate() {
            if let Some(grant) = grant(sent, &log[index + 1..]) {
                locks.entry(&sent.words[1]).or_default().push(grant);
            }
        }
    }
    for (lock, grants) in &mut locks {
        grants.sort_by_key(|grant| grant.sent);
        for (index, one) in grants.iter().enumerate() {
            for other in &grants[index + 1..] {
                check_pair(lock, one, other);
                check_pair(lock, other, one);
            }
        }
    }
    locks.values().map(Vec::len).sum()
}

fn check_pair(lock: &str, one: &Grant<'_>, other: &Grant<'_>) {
    if one.token == other.token {
        return;
    }
    let named =
        || format!("{lock}: {} {} and {} {}", one.token, one.fence, other.token, other.fence);
    assert_ne!(one.fence, other.fence, "{} have one fencing token", named());
    if one.answered < other.sent {
        assert!(one.fence < other.fence, "{}: fencing tokens do not grow", named());
    }
    if one.fence < other.fence {
        assert!(one.until <= other.answered, "{}: both within one lease", named());
    }
}

fn grant<'l>(sent: &'l Sent, later: &[Sent]) -> Option<Grant<'l>> {
    let [name, _, token, lease, ..] = sent.words.as_slice() else { return None };
    let fence = sent.outcome().filter(|fence| name == "LOCK.ACQUIRE" && *fence > 0)?;
    let lease = Duration::from_millis(lease.parse().expect("a lease"));
    let (answered, _) = sent.back.as_ref()?;
    let touched = later.iter().find(|sent| sent.words.get(2) == Some(token)).map(|sent| sent.at);
    let end = sent.at + lease - CLOCK_STEP;
    let with_session = sent.words.iter().any(|word| word == "SESSION");
    let closed = with_session.then(|| later.last().map_or(*answered, |last| last.at));
    let until = [touched, closed].into_iter().flatten().fold(end, Instant::min);
    Some(Grant { token, fence, sent: sent.at, answered: *answered, until })
}
