//! The entries that could not be written: they are put aside, pending, and tried again. Pure: the
//! time is passed in.
//!
//! An order does not hold up others, whatever it is refused for. If a statement of the shop changes
//! no row for an order, the other orders of its voucher would fare no better: they are put aside
//! with it, untried, until one of them is written.
//!
//! What is remembered is bounded by voucher. More entries of a voucher stay pending, forgotten,
//! until they were idle for so long that a worker takes them over: no other voucher waits for that.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};

use domain::entry_id::EntryId;
use seckill_tools::back_off::back_off;

use crate::batch::Why;
use crate::ending::Place;
use crate::order_events::{Event, Kind, RawOrder, Which};

/// Entries of one voucher, and of all, that are remembered: these bound the worker's memory.
const VOUCHER_MAX: usize = 10_000;
const ASIDE_MAX: usize = 100_000;

/// An entry that can't be written now.
#[derive(Clone, Debug)]
pub struct Bad {
    pub place: Place,
    /// What it says, if it could be read.
    pub event: Option<Event>,
    /// The order that it is about, as the entry has it, if no row can have such ids.
    pub raw: Option<RawOrder>,
    pub why: Why,
}

impl Bad {
    pub fn voucher(&self) -> &[u8] {
        let of_event = self.event.as_ref().map(|event| event.key.voucher.as_bytes());
        of_event.or(self.raw.as_ref().map(|raw| &*raw.voucher)).unwrap_or_default()
    }

    pub fn is_held(&self) -> bool {
        let kind = self.event.as_ref().map(|event| &event.kind);
        matches!(kind, Some(Kind::Order { deadline_ms: Some(_) }))
    }
}

/// How an entry was tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tried {
    /// How often this worker could not write it. The server's count of deliveries can't show that:
    /// it also counts deliveries to workers that died.
    pub times: u64,
    /// Since when it is refused, or aside.
    pub since: Instant,
    /// When it was tried the time before.
    pub before: Instant,
    /// Whether the database or the server refuses it, rather than a rule of the worker.
    pub is_refused: bool,
}

/// An entry that is aside.
#[derive(Debug)]
struct Put {
    tried: Tried,
    /// When it was last tried.
    last: Instant,
    /// None if it is not tried again.
    due: Option<Instant>,
    /// The voucher of the order; empty if that can't be read.
    voucher: Vec<u8>,
    is_unchanged: bool,
    /// What it says: it is in hand, whatever becomes of the entry.
    event: Option<Event>,
    raw: Option<RawOrder>,
}

#[derive(Debug, Default)]
pub struct Aside {
    entries: HashMap<Place, Put>,
    /// How many entries there are, by voucher.
    counts: HashMap<Vec<u8>, usize>,
    /// Vouchers with an order for which a statement changed no row.
    stuck: BTreeSet<String>,
    /// Vouchers of which some entries are not remembered.
    crowded: BTreeSet<Vec<u8>>,
}

impl Aside {
    /// Puts an entry aside for `first`, then for twice that, and so on, but not longer than `most`.
    /// None if it is not remembered, since there are too many of its voucher.
    pub fn put(
        &mut self,
        bad: &Bad,
        now: Instant,
        (first, most): (Duration, Duration),
    ) -> Option<Tried> {
        let is_unchanged = matches!(bad.why, Why::Unchanged(_));
        if let Some(event) = bad.event.as_ref().filter(|event| is_unchanged && event.is_order()) {
            self.stuck.insert(event.key.voucher.clone());
        }
        let put = self.remember(bad.place, bad.voucher(), now, bad.event.as_ref())?;
        put.tried.times += 1;
        put.tried.before = std::mem::replace(&mut put.last, now);
        put.due = Some(now + back_off(first, put.tried.times).min(most.max(first)));
        put.is_unchanged = is_unchanged;
        let is_refused = matches!(bad.why, Why::Refused(_));
        if !std::mem::replace(&mut put.tried.is_refused, is_refused) {
            put.tried.since = now;
        }
        put.raw.clone_from(&bad.raw);
        Some(put.tried)
    }

    fn remember(
        &mut self,
        place: Place,
        voucher: &[u8],
        now: Instant,
        event: Option<&Event>,
    ) -> Option<&mut Put> {
        if !self.entries.contains_key(&place) {
            let count = self.counts.get(voucher).copied().unwrap_or(0);
            if count >= VOUCHER_MAX || self.entries.len() >= ASIDE_MAX {
                self.crowded.insert(voucher.to_owned());
                return None;
            }
            self.counts.insert(voucher.to_owned(), count + 1);
        }
        Some(self.entries.entry(place).or_insert_with(|| Put {
            tried: Tried { times: 0, since: now, before: now, is_refused: false },
            last: now,
            due: None,
            voucher: voucher.to_owned(),
            is_unchanged: false,
            event: event.cloned(),
            raw: None,
        }))
    }

    /// Puts an order aside without a try, if another order of its voucher is stuck.
    pub fn joins(&mut self, event: &Event, now: Instant, wait: Duration) -> bool {
        let place = event.place_of_entry();
        let voucher = &event.key.voucher;
        if !event.is_order() || !self.stuck.contains(voucher) || self.entries.contains_key(&place) {
            return false;
        }
        if let Some(put) = self.remember(place, voucher.as_bytes(), now, Some(event)) {
            put.due = Some(now + wait);
            put.is_unchanged = true;
        }
        true
    }

    /// The entry is not tried again by this worker, which is about to end; nor is what it stands
    /// for.
    pub fn leave(&mut self, place: Place) {
        let Some(put) = self.entries.get_mut(&place) else { return };
        put.due = None;
        let voucher = put.voucher.clone();
        let is_stuck = |stuck: &String| stuck.as_bytes() == voucher;
        if self.stuck.iter().any(is_stuck) {
            let its = self.entries.values_mut().filter(|put| put.voucher == voucher);
            its.for_each(|put| put.due = None);
        }
    }

    /// The entry is written, or no longer this worker's.
    pub fn forget(&mut self, place: Place) {
        let Some(put) = self.entries.remove(&place) else { return };
        if let Some(count) = self.counts.get_mut(&put.voucher) {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&put.voucher);
                self.crowded.remove(&put.voucher);
            }
        }
    }

    /// Something of a voucher was written, which may have made room: its other orders are due.
    pub fn wake(&mut self, vouchers: &BTreeSet<&str>, now: Instant) {
        let vouchers: BTreeSet<_> = vouchers.iter().map(|voucher| voucher.as_bytes()).collect();
        for put in self.entries.values_mut() {
            let is_its = vouchers.contains(&*put.voucher);
            if is_its && put.due.is_some() && (put.is_unchanged || !put.tried.is_refused) {
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
        let is_it = |put: &Put| put.raw.as_ref().is_some_and(|raw| released.contains(raw));
        let all = self.entries.iter().filter(|((which, _), _)| *which == Which::Orders);
        all.filter(|(_, put)| is_it(put)).map(|(place, _)| *place).collect()
    }

    /// What an entry says that is aside.
    pub fn event(&self, place: Place) -> Option<&Event> {
        self.entries.get(&place)?.event.as_ref()
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

    /// Whether a statement changed no row for an order that is aside.
    pub fn has_unchanged(&self) -> bool {
        !self.stuck.is_empty()
    }

    pub fn next_due(&self) -> Option<Instant> {
        self.entries.values().filter_map(|put| put.due).min()
    }

    /// The entries that are due, by stream. They will be put aside again or forgotten; if the
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
            let voucher = str::from_utf8(&put.voucher).unwrap_or_default();
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

    const SECOND: Duration = Duration::from_secs(1);
    const WAITS: (Duration, Duration) = (SECOND, Duration::from_secs(30));

    fn place(ms: u64) -> Place {
        (Which::Orders, EntryId { ms, seq: 0 })
    }

    fn order(ms: u64, voucher: &str) -> Event {
        let [voucher, sale, order] = [voucher, "", "o"].map(str::to_owned);
        let key = OrderKey { voucher, sale, order };
        let kind = Kind::Order { deadline_ms: None };
        Event::made(place(ms).1, key, "u".into(), 1, kind)
    }

    fn bad(ms: u64, why: Why) -> Bad {
        Bad { place: place(ms), event: Some(order(ms, "7")), raw: None, why }
    }

    fn due(aside: &mut Aside, now: Instant) -> Vec<u64> {
        aside.take_due(now, SECOND).into_values().flatten().map(|id| id.ms).collect()
    }

    #[test]
    fn waits_grow_and_what_is_due_is_taken_once() {
        let (mut aside, start) = (Aside::default(), Instant::now());
        let refused = |ms| bad(ms, Why::Refused("no".to_owned()));
        for ms in [3, 1, 2] {
            aside.put(&refused(ms), start, WAITS);
        }
        assert_eq!(aside.next_due(), Some(start + SECOND));
        assert_eq!(due(&mut aside, start), [0; 0]);
        assert_eq!(due(&mut aside, start + SECOND), [1, 2, 3]);
        assert!(due(&mut aside, start + SECOND).is_empty() && aside.len() == 3);
        assert_eq!(aside.put(&refused(1), start, WAITS).map(|put| put.times), Some(2));
        assert_eq!(aside.next_due(), Some(start + 2 * SECOND));
        aside.forget(place(1));
        assert_eq!(due(&mut aside, start + 2 * SECOND), [2, 3], "these were not finished");
    }

    #[test]
    fn one_order_stands_for_those_of_a_stuck_voucher() {
        let (mut aside, start) = (Aside::default(), Instant::now());
        let unchanged = Why::Unchanged("no row".to_owned());
        assert!(!aside.joins(&order(2, "7"), start, SECOND));
        aside.put(&bad(1, unchanged), start, WAITS);
        assert!(aside.joins(&order(2, "7"), start, SECOND));
        assert!(aside.joins(&order(3, "7"), start, SECOND));
        assert!(!aside.joins(&order(4, "8"), start, SECOND), "another voucher goes on");
        assert_eq!(due(&mut aside, start + SECOND), [1]);
        assert!(aside.has_unchanged());
        // It was written.
        aside.forget(place(1));
        assert!(aside.unstick("7") && !aside.has_unchanged());
        aside.wake(&BTreeSet::from(["7"]), start);
        assert_eq!(due(&mut aside, start), [2, 3]);
    }

    #[test]
    fn what_is_remembered_of_a_voucher_is_bounded_and_no_other_waits_for_it() {
        let (mut aside, start) = (Aside::default(), Instant::now());
        let of = |ms: usize, voucher: &str| {
            let raw = RawOrder {
                voucher: voucher.into(),
                sale: String::new(),
                user: b"\0".to_vec(),
                order: ms.to_string().into_bytes(),
            };
            let (place, why) = (place(ms as u64), Why::Unfit("a NUL".to_owned()));
            Bad { place, event: None, raw: Some(raw), why }
        };
        for ms in 0..VOUCHER_MAX + 10 {
            let is_remembered = aside.put(&of(ms, "7"), start, WAITS).is_some();
            assert_eq!(is_remembered, ms < VOUCHER_MAX);
        }
        assert!(aside.is_crowded(b"7") && !aside.is_crowded(b"8"));
        assert!(aside.put(&of(VOUCHER_MAX + 10, "8"), start, WAITS).is_some());
        let (first, other) = (of(3, "7").raw.unwrap(), of(VOUCHER_MAX + 5, "7").raw.unwrap());
        assert_eq!(aside.ended(&BTreeSet::from([&first, &other])), [place(3)]);
        aside.forget(place(3));
        assert!(aside.put(&of(VOUCHER_MAX, "7"), start, WAITS).is_some(), "there is room");
    }
}
