//! Times that are due: ends of waits, and ends of leases, when a lock must be looked at.

use super::DbKey;
use std::collections::BTreeSet;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Due<C> {
    WaitEnd(C),
    Look(DbKey),
}

/// Everything due, the earliest first.
pub(super) struct Dues<C>(BTreeSet<(i64, Due<C>)>);

impl<C> Default for Dues<C> {
    fn default() -> Self {
        Self(BTreeSet::new())
    }
}

impl<C: Ord + Clone> Dues<C> {
    pub(super) fn add(&mut self, at_ms: i64, due: Due<C>) {
        self.0.insert((at_ms, due));
    }

    pub(super) fn remove(&mut self, at_ms: i64, due: Due<C>) {
        self.0.remove(&(at_ms, due));
    }

    /// The first that is due by `now_ms`. It is not removed.
    pub(super) fn first_until(&self, now_ms: i64) -> Option<Due<C>> {
        let (at_ms, due) = self.0.first()?;
        (*at_ms <= now_ms).then(|| due.clone())
    }

    pub(super) fn first_ms(&self) -> Option<i64> {
        self.0.first().map(|(at_ms, _)| *at_ms)
    }
}
