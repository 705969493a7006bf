//! The entries that could not be written: they are put aside, pending, and tried again. Pure: the
//! time is passed in.
//!
//! An order does not hold up others, whatever it is refused for. If a statement of the shop changes
//! no row for an order, the other orders of its voucher would fare no better: they are put aside
//! with it, untried, until one of them is written.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use seckill_tools::back_off::back_off;

use crate::batch::Why;
use crate::stream_entry::Which;

/// More are not read: somebody must look first. Bounds the worker's memory.
const ASIDE_MAX: usize = 100_000;

/// An entry that is aside.
#[derive(Clone, Debug)]
pub struct Put {
    /// How often this worker could not write it. The server's count of deliveries can't show that:
    /// it also counts deliveries to workers that died.
    pub times: u64,
    pub since: Instant,
    /// None if it is not tried again.
    due: Option<Instant>,
    /// The voucher of the order; none if that can't be read.
    voucher: Option<String>,
    is_unchanged: bool,
    /// Whether the database or the server refuses it, rather than a rule of the worker.
    pub is_refused: bool,
}

#[derive(Debug, Default)]
pub struct Aside {
    entries: HashMap<(Which, EntryId), Put>,
    /// Vouchers with an order for which a statement changed no row.
    stuck: BTreeSet<String>,
}

impl Aside {
    /// Puts an entry aside for `first`, then for twice that, and so on, but not longer than `most`.
    pub fn put(
        &mut self,
        place: (Which, EntryId),
        voucher: Option<&str>,
        why: &Why,
        now: Instant,
        (first, most): (Duration, Duration),
    ) -> Put {
        let is_unchanged = matches!(why, Why::Unchanged(_));
        if let Some(voucher) = voucher.filter(|_| is_unchanged && place.0 == Which::Orders) {
            self.stuck.insert(voucher.to_owned());
        }
        let put = self.entries.entry(place).or_insert_with(|| Put {
            times: 0,
            since: now,
            due: None,
            voucher: voucher.map(str::to_owned),
            is_unchanged,
            is_refused: false,
        });
        put.times += 1;
        put.due = Some(now + back_off(first, put.times).min(most.max(first)));
        put.is_unchanged = is_unchanged;
        put.is_refused = matches!(why, Why::Refused(_));
        put.clone()
    }

    /// Puts an order aside without a try, if another order of its voucher is stuck.
    pub fn joins(&mut self, id: EntryId, voucher: &str, now: Instant, wait: Duration) -> bool {
        let place = (Which::Orders, id);
        if !self.stuck.contains(voucher) || self.entries.contains_key(&place) {
            return false;
        }
        let put = Put {
            times: 0,
            since: now,
            due: Some(now + wait),
            voucher: Some(voucher.to_owned()),
            is_unchanged: true,
            is_refused: false,
        };
        self.entries.insert(place, put);
        true
    }

    /// The entry is not tried again by this worker, which is about to end; nor is what it stands
    /// for.
    pub fn leave(&mut self, place: (Which, EntryId)) {
        let Some(put) = self.entries.get_mut(&place) else { return };
        put.due = None;
        let Some(voucher) = put.voucher.clone().filter(|voucher| self.stuck.contains(voucher))
        else {
            return;
        };
        let its = self.entries.values_mut().filter(|put| put.voucher.as_ref() == Some(&voucher));
        its.for_each(|put| put.due = None);
    }

    /// The entry is written, or no longer this worker's.
    pub fn forget(&mut self, place: (Which, EntryId)) {
        self.entries.remove(&place);
    }

    /// Something of a voucher was written, which may have made room: its other orders are due.
    pub fn wake(&mut self, vouchers: &BTreeSet<&str>, now: Instant) {
        for put in self.entries.values_mut() {
            let is_its = put.voucher.as_deref().is_some_and(|voucher| vouchers.contains(voucher));
            if is_its && put.due.is_some() && (put.is_unchanged || !put.is_refused) {
                put.due = Some(now);
            }
        }
    }

    /// An order of the voucher was written: the others are tried again.
    pub fn unstick(&mut self, voucher: &str) -> bool {
        self.stuck.remove(voucher)
    }

    pub fn knows(&self, place: (Which, EntryId)) -> bool {
        self.entries.contains_key(&place)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn is_full(&self) -> bool {
        self.entries.len() >= ASIDE_MAX
    }

    /// Whether a statement changed no row for an order that is aside.
    pub fn has_unchanged(&self) -> bool {
        !self.stuck.is_empty()
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.entries.values().filter_map(|put| put.due).min()
    }

    /// The entries that are due, by stream; they are due no more, but put aside again or forgotten.
    /// The first order of a stuck voucher stands for all.
    pub fn take_due(&mut self, now: Instant, wait: Duration) -> BTreeMap<Which, Vec<EntryId>> {
        let due = |put: &Put| put.due.is_some_and(|due| due <= now);
        let mut places: Vec<_> =
            self.entries.iter().filter(|(_, put)| due(put)).map(|(place, _)| *place).collect();
        places.sort_unstable();
        let (mut taken, mut tried) = (BTreeMap::new(), BTreeSet::new());
        for (which, id) in places {
            let Some(put) = self.entries.get_mut(&(which, id)) else { continue };
            if let Some(voucher) = put.voucher.as_ref().filter(|_| which == Which::Orders)
                && self.stuck.contains(voucher)
                && !tried.insert(voucher.clone())
            {
                put.due = Some(now + wait);
                continue;
            }
            put.due = None;
            taken.entry(which).or_insert_with(Vec::new).push(id);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);
    const WAITS: (Duration, Duration) = (SECOND, Duration::from_secs(30));

    fn place(ms: u64) -> (Which, EntryId) {
        (Which::Orders, EntryId { ms, seq: 0 })
    }

    fn due(aside: &mut Aside, now: Instant) -> Vec<u64> {
        aside.take_due(now, SECOND).into_values().flatten().map(|id| id.ms).collect()
    }

    #[test]
    fn waits_grow_and_what_is_due_is_taken_once() {
        let (mut aside, start) = (Aside::default(), Instant::now());
        let refused = Why::Refused("no".to_owned());
        for ms in [3, 1, 2] {
            aside.put(place(ms), Some("7"), &refused, start, WAITS);
        }
        assert_eq!(aside.next_due(), Some(start + SECOND));
        assert_eq!(due(&mut aside, start), [0; 0]);
        assert_eq!(due(&mut aside, start + SECOND), [1, 2, 3]);
        assert!(due(&mut aside, start + SECOND).is_empty() && aside.len() == 3);
        assert_eq!(aside.put(place(1), Some("7"), &refused, start, WAITS).times, 2);
        assert_eq!(aside.next_due(), Some(start + 2 * SECOND));
        aside.forget(place(1));
        assert_eq!(aside.next_due(), None);
    }

    #[test]
    fn one_order_stands_for_those_of_a_stuck_voucher() {
        let (mut aside, start) = (Aside::default(), Instant::now());
        let unchanged = Why::Unchanged("no row".to_owned());
        assert!(!aside.joins(place(2).1, "7", start, SECOND));
        aside.put(place(1), Some("7"), &unchanged, start, WAITS);
        assert!(aside.joins(place(2).1, "7", start, SECOND));
        assert!(aside.joins(place(3).1, "7", start, SECOND));
        assert!(!aside.joins(place(4).1, "8", start, SECOND), "another voucher goes on");
        assert_eq!(due(&mut aside, start + SECOND), [1]);
        assert!(aside.has_unchanged());
        assert!(aside.unstick("7") && !aside.has_unchanged());
        aside.wake(&BTreeSet::from(["7"]), start);
        assert_eq!(due(&mut aside, start), [2, 3]);
    }
}
