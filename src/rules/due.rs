//! Which holds keys are to be looked at, and when: an index of them by their earliest deadline.
//!
//! The index is a hint and never the truth, which is in the keys. A key that changed is *marked*;
//! who looks at it then says what was found.

use crate::rules::terms::Millis;
use std::collections::{BTreeSet, HashMap};

/// A key of one database.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    pub(crate) db: i32,
    pub(crate) key: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Seen {
    at: Millis,
    holds: u64,
}

/// The index.
#[derive(Debug, Default)]
pub(crate) struct DueIndex {
    /// When to look next, the earliest first.
    queue: BTreeSet<(Millis, Place)>,
    /// What stands in the queue, by place.
    seen: HashMap<Place, Seen>,
    /// Keys of each database that changed since they were looked at.
    marked: HashMap<i32, BTreeSet<Vec<u8>>>,
}

impl DueIndex {
    /// Notes that a key changed, came or went.
    pub(crate) fn mark(&mut self, db: i32, key: &[u8]) {
        let keys = self.marked.entry(db).or_default();
        if !keys.contains(key) {
            keys.insert(key.to_vec());
        }
    }

    /// A key that changed, which counts as looked at from now on.
    pub(crate) fn take_marked(&mut self) -> Option<Place> {
        let db = *self.marked.keys().next()?;
        let keys = self.marked.get_mut(&db)?;
        // A hash set would search longer and longer for its first key, the emptier it gets.
        let key = keys.pop_first();
        if keys.is_empty() {
            self.marked.remove(&db);
        }
        key.map(|key| Place { db, key })
    }

    /// Notes what was found at a key: so many holds, to be looked at again at `at`.
    pub(crate) fn set(&mut self, place: Place, at: Millis, holds: u64) {
        self.remove(&place);
        self.queue.insert((at, place.clone()));
        self.seen.insert(place, Seen { at, holds });
    }

    /// Notes that a key is to be looked at again at `at`, whatever there is.
    pub(crate) fn retry(&mut self, place: Place, at: Millis) {
        let holds = self.seen.get(&place).map_or(0, |seen| seen.holds);
        self.set(place, at, holds);
    }

    /// Notes that there is nothing at a key.
    pub(crate) fn remove(&mut self, place: &Place) {
        if let Some(seen) = self.seen.remove(place) {
            self.queue.remove(&(seen.at, place.clone()));
        }
    }

    /// The key to be looked at first, if it is time.
    pub(crate) fn due(&self, now: Millis) -> Option<Place> {
        self.queue.first().filter(|(at, _)| *at <= now).map(|(_, place)| place.clone())
    }

    /// When there is something to do next. At once, which is 0, while a key is marked.
    pub(crate) fn next(&self) -> Option<Millis> {
        if self.marked.is_empty() { self.queue.first().map(|(at, _)| *at) } else { Some(0) }
    }

    /// How many holds there were when the keys were looked at last.
    pub(crate) fn holds(&self) -> u64 {
        self.seen.values().fold(0, |sum, seen| sum.saturating_add(seen.holds))
    }

    /// A database was emptied, or all of them.
    pub(crate) fn flushed(&mut self, db: Option<i32>) {
        let stays = |place: &Place| db.is_some_and(|db| place.db != db);
        self.queue.retain(|(_, place)| stays(place));
        self.seen.retain(|place, _| stays(place));
        self.marked.retain(|marked, _| db.is_some_and(|db| *marked != db));
    }

    /// Two databases have changed places.
    pub(crate) fn swapped(&mut self, first: i32, second: i32) {
        let other = |db: i32| match db {
            db if db == first => second,
            db if db == second => first,
            db => db,
        };
        let moved = |place: Place| Place { db: other(place.db), ..place };
        let queue = std::mem::take(&mut self.queue);
        self.queue = queue.into_iter().map(|(at, place)| (at, moved(place))).collect();
        let seen = std::mem::take(&mut self.seen);
        self.seen = seen.into_iter().map(|(place, seen)| (moved(place), seen)).collect();
        let marked = std::mem::take(&mut self.marked);
        self.marked = marked.into_iter().map(|(db, keys)| (other(db), keys)).collect();
    }

    /// Marks every key that is in the index.
    pub(crate) fn mark_all(&mut self) {
        let places: Vec<Place> = self.seen.keys().cloned().collect();
        places.iter().for_each(|place| self.mark(place.db, &place.key));
    }
}

#[cfg(test)]
mod tests {
    use super::{DueIndex, Place};
    use std::collections::BTreeMap;

    fn place(db: i32, key: &str) -> Place {
        Place { db, key: key.as_bytes().to_vec() }
    }

    #[test]
    fn the_earliest_comes_first() {
        let mut index = DueIndex::default();
        assert_eq!((index.next(), index.due(i64::MAX), index.holds()), (None, None, 0));
        index.set(place(0, "a"), 20, 2);
        index.set(place(1, "b"), 10, 1);
        assert_eq!((index.next(), index.holds()), (Some(10), 3));
        assert_eq!(index.due(9), None);
        assert_eq!(index.due(10), Some(place(1, "b")));
        index.set(place(1, "b"), 30, 5);
        assert_eq!(index.due(25), Some(place(0, "a")));
        index.remove(&place(0, "a"));
        index.remove(&place(0, "a"));
        assert_eq!((index.next(), index.holds()), (Some(30), 5));
    }

    #[test]
    fn a_mark_is_taken_once() {
        let mut index = DueIndex::default();
        index.set(place(0, "a"), 20, 2);
        index.mark(0, b"a");
        index.mark(0, b"a");
        assert_eq!(index.next(), Some(0));
        assert_eq!(index.take_marked(), Some(place(0, "a")));
        assert_eq!(index.take_marked(), None);
        assert_eq!(index.next(), Some(20));
        index.mark_all();
        assert_eq!(index.take_marked(), Some(place(0, "a")));
    }

    /// Random changes against a plain map of what every key is known to hold.
    #[test]
    fn the_index_follows_a_model() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut index = DueIndex::default();
        let mut model: BTreeMap<Place, (i64, u64)> = BTreeMap::new();
        for _ in 0..20_000 {
            let place = place(random.i32(0..3), ["a", "b", "c", "d"][random.usize(0..4)]);
            match random.u32(0..20) {
                0..=11 => {
                    let (at, holds) = (random.i64(1..50), random.u64(1..9));
                    index.set(place.clone(), at, holds);
                    model.insert(place, (at, holds));
                }
                12..=16 => {
                    index.remove(&place);
                    model.remove(&place);
                }
                17 => {
                    index.flushed(Some(place.db));
                    model.retain(|other, _| other.db != place.db);
                }
                18 if random.u32(0..9) == 0 => {
                    index.flushed(None);
                    model.clear();
                }
                _ => {
                    index.swapped(0, place.db);
                    let db = |db| {
                        if db == 0 {
                            place.db
                        } else if db == place.db {
                            0
                        } else {
                            db
                        }
                    };
                    let moved = |p: Place| Place { db: db(p.db), ..p };
                    model = model.into_iter().map(|(p, v)| (moved(p), v)).collect();
                }
            }
            assert_eq!(index.next(), model.values().map(|(at, _)| *at).min());
            assert_eq!(index.holds(), model.values().map(|(_, holds)| *holds).sum::<u64>());
            let due = index.due(25).map(|place| model[&place].0);
            assert_eq!(due, index.next().filter(|at| *at <= 25));
        }
    }
}
