//! Which entries are retried, and when. Pure: the time is passed in.

use std::collections::HashMap;
use std::time::Instant;

use crate::order_events::Order;
use domain::entry_id::EntryId;

use crate::source::Which;

/// Why an entry is pending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pending {
    /// The database refused it.
    Refused,
    /// A release may resolve its conflict, such as another live order of its user: it waits until
    /// the releases up to this id are in the database. This does not count as a refusal.
    Waits(Order, EntryId),
}

/// How often this worker was refused an entry, and since when. The server's count of deliveries
/// can't show that: it also counts deliveries to workers that died.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub times: u64,
    pub since: Instant,
}

/// The pending entries that the database refused to this worker.
#[derive(Debug, Default)]
pub struct Refusals(HashMap<(Which, EntryId), Refusal>);

impl Refusals {
    pub fn add(&mut self, which: Which, id: EntryId, now: Instant) -> Refusal {
        let refusal = self.0.entry((which, id)).or_insert(Refusal { times: 0, since: now });
        refusal.times += 1;
        *refusal
    }

    /// The entry is written, or no longer this worker's.
    pub fn forget(&mut self, which: Which, id: EntryId) {
        self.0.remove(&(which, id));
    }

    pub fn knows(&self, which: Which, id: EntryId) -> bool {
        self.0.contains_key(&(which, id))
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }
}

#[derive(Debug, Default)]
pub struct Retries(HashMap<(Which, EntryId), (Instant, Pending)>);

impl Retries {
    pub fn add(&mut self, which: Which, id: EntryId, due: Instant, pending: Pending) {
        self.0.insert((which, id), (due, pending));
    }

    /// The entry was delivered again, or is settled.
    pub fn forget(&mut self, which: Which, id: EntryId) {
        self.0.remove(&(which, id));
    }

    pub fn knows(&self, which: Which, id: EntryId) -> bool {
        self.0.contains_key(&(which, id))
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.0.values().map(|(due, _)| *due).min()
    }

    /// Removes and returns the entries that are due, the earliest ids first.
    pub fn take_due(&mut self, now: Instant) -> Vec<(Which, EntryId, Pending)> {
        let due = self.0.extract_if(|_, (due, _)| *due <= now);
        let mut due: Vec<_> = due.map(|((which, id), (_, pending))| (which, id, pending)).collect();
        due.sort_unstable_by_key(|(_, id, _)| *id);
        due
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn what_is_due_is_taken_once() {
        let mut retries = Retries::default();
        let start = Instant::now();
        for ms in [3, 1, 2] {
            let due = start + SECOND * u32::try_from(ms).unwrap();
            retries.add(Which::Orders, EntryId { ms, seq: 0 }, due, Pending::Refused);
        }
        assert_eq!(retries.next_due(), Some(start + SECOND));
        let due = retries.take_due(start + 2 * SECOND);
        assert_eq!(due.iter().map(|(_, id, _)| id.ms).collect::<Vec<_>>(), [1, 2]);
        assert!(retries.take_due(start + 2 * SECOND).is_empty());
        assert!(retries.knows(Which::Orders, EntryId { ms: 3, seq: 0 }));
        retries.forget(Which::Orders, EntryId { ms: 3, seq: 0 });
        assert_eq!(retries.next_due(), None);
    }
}
