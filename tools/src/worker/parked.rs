//! The entries that could not be written: they are parked, pending, and tried again. Pure: the
//! time is passed in.
//!
//! An order does not hold up others, whatever it is refused for. If a statement of the shop changes
//! no row for an order, the other orders of its voucher would fare no better: they are parked
//! with it, untried, until one of them is written.
//!
//! What is remembered is bounded by voucher. More entries of a voucher stay pending, forgotten,
//! until they were idle for so long that a worker takes them over: no other voucher waits for that.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use seckill_tools::back_off::back_off;

use crate::order_events::{Event, Place, RawOrder, Which};

/// Entries of one voucher, and of all, that are remembered: these bound the worker's memory.
const VOUCHER_MAX: usize = 10_000;
const PARKED_MAX: usize = 100_000;

/// Why an entry can't be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Its fields, or an id in them, are none that can be a row.
    Unfit(String),
    /// The reason of the database, or of the server.
    Refused(String),
    /// One of the shop's statements changed no row.
    Unchanged(String),
    /// A reason that says nothing of its data.
    Elsewhere(String),
}

impl Why {
    pub fn text(&self) -> &str {
        match self {
            Self::Refused(text)
            | Self::Unchanged(text)
            | Self::Elsewhere(text)
            | Self::Unfit(text) => text,
        }
    }
}

/// An entry that can't be written now.
#[derive(Clone, Debug)]
pub struct Refusal {
    pub place: Place,
    /// What it says, if it could be read.
    pub event: Option<Event>,
    /// The order that it is about, as the entry has it, if no row can have such ids.
    pub raw: Option<RawOrder>,
    pub why: Why,
}

impl Refusal {
    pub fn voucher(&self) -> &[u8] {
        let of_event = self.event.as_ref().map(|event| event.key.voucher.as_bytes());
        of_event.or(self.raw.as_ref().map(|raw| &*raw.voucher)).unwrap_or_default()
    }
}

/// An entry that is parked.
#[derive(Debug)]
struct Put {
    /// How often this worker could not write it. The server's count of deliveries can't show that:
    /// it also counts deliveries to workers that died.
    times: u64,
    /// None if it is not tried again.
    due: Option<Instant>,
    /// What it says, too: it is in flight, whatever becomes of the entry.
    refusal: Refusal,
}

#[derive(Debug, Default)]
pub struct Parked {
    entries: HashMap<Place, Put>,
    /// How many entries there are, by voucher.
    counts: HashMap<Vec<u8>, usize>,
    /// Vouchers with an order for which a statement changed no row.
    stuck: BTreeSet<String>,
    /// Vouchers of which some entries are not remembered.
    crowded: BTreeSet<Vec<u8>>,
}

impl Parked {
    /// Parks an entry for `first`, then for twice that, and so on, but not longer than `most`.
    /// None if it is not remembered, since there are too many of its voucher.
    pub fn put(
        &mut self,
        refusal: Refusal,
        now: Instant,
        (first, most): (Duration, Duration),
    ) -> Option<u64> {
        if let (Why::Unchanged(_), Some(event)) = (&refusal.why, &refusal.event)
            && event.is_order()
        {
            self.stuck.insert(event.key.voucher.clone());
        }
        let put = self.remember(refusal)?;
        put.times += 1;
        put.due = Some(now + back_off(first, put.times).min(most.max(first)));
        Some(put.times)
    }

    fn remember(&mut self, refusal: Refusal) -> Option<&mut Put> {
        let (place, voucher) = (refusal.place, refusal.voucher());
        // Other names of fields may tell its voucher now.
        let has_other = |put: &Put| put.refusal.voucher() != voucher;
        if self.entries.get(&place).is_some_and(has_other) {
            self.forget(place);
        }
        if !self.entries.contains_key(&place) {
            let count = self.counts.get(voucher).copied().unwrap_or(0);
            if count >= VOUCHER_MAX || self.entries.len() >= PARKED_MAX {
                self.crowded.insert(voucher.to_owned());
                return None;
            }
            self.counts.insert(voucher.to_owned(), count + 1);
        }
        Some(match self.entries.entry(place) {
            Entry::Vacant(entry) => entry.insert(Put { times: 0, due: None, refusal }),
            Entry::Occupied(entry) => {
                let put = entry.into_mut();
                put.refusal = refusal;
                put
            }
        })
    }

    /// Parks an order without a try, if another order of its voucher is stuck.
    pub fn joins(&mut self, event: &Event, now: Instant, wait: Duration) -> bool {
        let place = event.place;
        let is_stuck = event.is_order() && self.stuck.contains(&event.key.voucher);
        if !is_stuck || self.entries.contains_key(&place) {
            return false;
        }
        let (event, why) = (Some(event.clone()), Why::Unchanged(String::new()));
        if let Some(put) = self.remember(Refusal { place, event, raw: None, why }) {
            put.due = Some(now + wait);
        }
        true
    }

    /// The entry is not tried again by this worker, which is about to end; nor is what it stands
    /// for.
    pub fn leave(&mut self, place: Place) {
        let Some(put) = self.entries.get_mut(&place) else { return };
        put.due = None;
        let voucher = put.refusal.voucher().to_owned();
        let is_stuck = |stuck: &String| stuck.as_bytes() == voucher;
        if self.stuck.iter().any(is_stuck) {
            let its = self.entries.values_mut().filter(|put| put.refusal.voucher() == voucher);
            its.for_each(|put| put.due = None);
        }
    }

    /// The entry is written, or no longer this worker's.
    pub fn forget(&mut self, place: Place) {
        let Some(put) = self.entries.remove(&place) else { return };
        let voucher = put.refusal.voucher();
        if let Some(count) = self.counts.get_mut(voucher) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(voucher);
                self.crowded.remove(voucher);
            }
        }
    }

    /// Something of a voucher was written, which may have made room: its other orders are due.
    pub fn wake(&mut self, vouchers: &BTreeSet<&str>, now: Instant) {
        let vouchers: BTreeSet<_> = vouchers.iter().map(|voucher| voucher.as_bytes()).collect();
        for put in self.entries.values_mut() {
            let is_its = vouchers.contains(put.refusal.voucher());
            if is_its && put.due.is_some() && !matches!(put.refusal.why, Why::Refused(_)) {
                put.due = Some(now);
            }
        }
    }

    /// An order of the voucher was written: the others are tried again.
    pub fn unstick(&mut self, voucher: &str) -> bool {
        self.stuck.remove(voucher)
    }

    /// The orders that these releases have ended.
    pub fn ended(&self, released: &BTreeSet<&RawOrder>) -> Vec<Place> {
        let is_it = |put: &Put| put.refusal.raw.as_ref().is_some_and(|raw| released.contains(raw));
        let all = self.entries.iter().filter(|((which, _), _)| *which == Which::Orders);
        all.filter(|(_, put)| is_it(put)).map(|(place, _)| *place).collect()
    }

    /// What an entry says that is parked.
    pub fn event(&self, place: Place) -> Option<&Event> {
        self.entries.get(&place)?.refusal.event.as_ref()
    }

    pub fn knows(&self, place: Place) -> bool {
        self.entries.contains_key(&place)
    }

    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// How many of them are of a stream.
    pub fn of(&self, which: Which) -> usize {
        self.entries.keys().filter(|(of, _)| *of == which).count()
    }

    /// Whether more entries of a voucher are pending than are remembered.
    pub fn is_crowded(&self, voucher: &[u8]) -> bool {
        self.crowded.contains(voucher)
    }

    /// Whether a statement changed no row for an order that is parked.
    pub fn has_unchanged(&self) -> bool {
        !self.stuck.is_empty()
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.entries.values().filter_map(|put| put.due).min()
    }

    /// The entries that are due, by stream. They will be parked again or forgotten; if the
    /// server fails before, they are due after `wait`. The first order of a stuck voucher stands
    /// for all.
    pub fn take_due(&mut self, now: Instant, wait: Duration) -> BTreeMap<Which, Vec<EntryId>> {
        let due = |put: &Put| put.due.is_some_and(|due| due <= now);
        let mut places: Vec<_> =
            self.entries.iter().filter(|(_, put)| due(put)).map(|(place, _)| *place).collect();
        places.sort_unstable();
        let (mut taken, mut tried) = (BTreeMap::new(), BTreeSet::new());
        for (which, id) in places {
            let Some(put) = self.entries.get_mut(&(which, id)) else { continue };
            let voucher = str::from_utf8(put.refusal.voucher()).unwrap_or_default();
            let is_stuck = which == Which::Orders && self.stuck.contains(voucher);
            put.due = Some(now + wait);
            if is_stuck && !tried.insert(voucher.to_owned()) {
                continue;
            }
            taken.entry(which).or_insert_with(Vec::new).push(id);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::order_events::OrderKey;
    use domain::rows::Report;

    const SECOND: Duration = Duration::from_secs(1);
    const WAITS: (Duration, Duration) = (SECOND, Duration::from_secs(30));

    fn place(ms: u64) -> Place {
        (Which::Orders, EntryId { ms, seq: 0 })
    }

    fn order(ms: u64, voucher: &str) -> Event {
        let [voucher, sale, order, user] = [voucher, "", "o", "u"].map(str::to_owned);
        let key = OrderKey { voucher, sale, order, user };
        let report = Report::Accepted { units: 1, is_held: false };
        let (deadline_ms, reason, rejects) = (None, None, None);
        Event { place: place(ms), key, report, deadline_ms, reason, rejects }
    }

    fn bad(ms: u64, why: Why) -> Refusal {
        Refusal { place: place(ms), event: Some(order(ms, "7")), raw: None, why }
    }

    fn due(parked: &mut Parked, now: Instant) -> Vec<u64> {
        parked.take_due(now, SECOND).into_values().flatten().map(|id| id.ms).collect()
    }

    #[test]
    fn waits_grow_and_what_is_due_is_taken_once() {
        let (mut parked, start) = (Parked::default(), Instant::now());
        let refused = |ms| bad(ms, Why::Refused("no".to_owned()));
        for ms in [3, 1, 2] {
            parked.put(refused(ms), start, WAITS);
        }
        assert_eq!(parked.next_due(), Some(start + SECOND));
        assert_eq!(due(&mut parked, start), [0; 0]);
        assert_eq!(due(&mut parked, start + SECOND), [1, 2, 3]);
        assert!(due(&mut parked, start + SECOND).is_empty() && parked.len() == 3);
        assert_eq!(parked.put(refused(1), start, WAITS), Some(2));
        assert_eq!(parked.next_due(), Some(start + 2 * SECOND));
        parked.forget(place(1));
        assert_eq!(due(&mut parked, start + 2 * SECOND), [2, 3], "these were not finished");
    }

    #[test]
    fn one_order_stands_for_those_of_a_stuck_voucher() {
        let (mut parked, start) = (Parked::default(), Instant::now());
        let unchanged = Why::Unchanged("no row".to_owned());
        assert!(!parked.joins(&order(2, "7"), start, SECOND));
        parked.put(bad(1, unchanged), start, WAITS);
        assert!(parked.joins(&order(2, "7"), start, SECOND));
        assert!(parked.joins(&order(3, "7"), start, SECOND));
        assert!(!parked.joins(&order(4, "8"), start, SECOND), "another voucher goes on");
        assert_eq!(due(&mut parked, start + SECOND), [1]);
        assert!(parked.has_unchanged());
        // It was written.
        parked.forget(place(1));
        assert!(parked.unstick("7") && !parked.has_unchanged());
        parked.wake(&BTreeSet::from(["7"]), start);
        assert_eq!(due(&mut parked, start), [2, 3]);
    }

    #[test]
    fn what_is_remembered_of_a_voucher_is_bounded_and_no_other_waits_for_it() {
        let (mut parked, start) = (Parked::default(), Instant::now());
        let of = |ms: usize, voucher: &str| {
            let raw = RawOrder {
                voucher: voucher.into(),
                sale: String::new(),
                user: b"\0".to_vec(),
                order: ms.to_string().into_bytes(),
            };
            let (place, why) = (place(ms as u64), Why::Unfit("a NUL".to_owned()));
            Refusal { place, event: None, raw: Some(raw), why }
        };
        for ms in 0..VOUCHER_MAX + 10 {
            let is_remembered = parked.put(of(ms, "7"), start, WAITS).is_some();
            assert_eq!(is_remembered, ms < VOUCHER_MAX);
        }
        assert!(parked.is_crowded(b"7") && !parked.is_crowded(b"8"));
        assert!(parked.put(of(VOUCHER_MAX + 10, "8"), start, WAITS).is_some());
        let (first, other) = (of(3, "7").raw.unwrap(), of(VOUCHER_MAX + 5, "7").raw.unwrap());
        assert_eq!(parked.ended(&BTreeSet::from([&first, &other])), [place(3)]);
        parked.forget(place(3));
        assert!(parked.put(of(VOUCHER_MAX, "7"), start, WAITS).is_some(), "there is room");
    }
}
