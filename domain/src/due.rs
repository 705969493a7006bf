//! An index of holds keys by their earliest deadline: which keys to look at, and when.
//!
//! The index is only a hint; the truth is in the keys. A key that changed is *marked*; the caller
//! then looks at it and reports what it found. A key whose holds belong to no managed voucher is
//! *parked* until its voucher, or the naming of keys, may have changed.

use crate::db_key::{DbKey, swapped_db};
use crate::rules::Millis;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

type Name = Rc<[u8]>;

/// A position among the holds of a key: after the hold `id` with this deadline, or after all holds
/// with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldPosition {
    pub deadline: Millis,
    /// None: after every hold with this deadline.
    pub id: Option<Vec<u8>>,
}

/// Holds that could not be released: those up to `behind` are skipped until `until`, so that they
/// don't block later holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    pub behind: HoldPosition,
    pub until: Millis,
}

#[derive(Clone, Debug)]
struct Seen {
    at: Millis,
    holds: u64,
    skipped: Option<Skipped>,
}

/// The holds keys of one database.
#[derive(Debug, Default)]
struct Database {
    /// When to look at each key next, the earliest first.
    queue: BTreeSet<(Millis, Name)>,
    /// Each key's values in the queue.
    seen: HashMap<Name, Seen>,
    /// Keys that have changed since the last look.
    marked: BTreeSet<Name>,
    /// Keys that belong to no managed voucher.
    parked: HashSet<Name>,
    /// The sum of all holds seen.
    holds: u64,
}

/// The index, by database, so that swapping two databases takes constant time.
#[derive(Debug, Default)]
pub struct DueIndex {
    databases: BTreeMap<i32, Database>,
}

impl DueIndex {
    /// Notes that a key was changed, created or deleted.
    pub fn mark(&mut self, db: i32, key: &[u8]) {
        let database = self.databases.entry(db).or_default();
        if !database.marked.contains(key) {
            // A known key shares its name.
            let known = database.seen.get_key_value(key).map(|(name, _)| Rc::clone(name));
            database.marked.insert(known.unwrap_or_else(|| key.into()));
        }
    }

    /// Removes and returns a marked key.
    pub fn take_marked(&mut self) -> Option<DbKey> {
        let (db, database) =
            self.databases.iter_mut().find(|(_, database)| !database.marked.is_empty())?;
        let (db, key) = (*db, database.marked.pop_first()?);
        Some(DbKey { db, key })
    }

    /// Notes that a key has this many holds, and is to be looked at again at `at`.
    pub fn set(&mut self, key: &DbKey, at: Millis, holds: u64) {
        let skipped = self.skipped(key).cloned();
        self.remove(key);
        let database = self.databases.entry(key.db).or_default();
        database.queue.insert((at, Rc::clone(&key.key)));
        database.holds = database.holds.saturating_add(holds);
        database.seen.insert(Rc::clone(&key.key), Seen { at, holds, skipped });
    }

    /// Notes that a key is to be looked at again at `at`, without changing what is known of it.
    pub fn retry(&mut self, key: &DbKey, at: Millis) {
        let seen = self.databases.get(&key.db).and_then(|database| database.seen.get(&key.key));
        let holds = seen.map_or(0, |seen| seen.holds);
        self.set(key, at, holds);
    }

    /// The holds of a key that are skipped for now.
    pub fn skipped(&self, key: &DbKey) -> Option<&Skipped> {
        self.databases.get(&key.db)?.seen.get(&key.key)?.skipped.as_ref()
    }

    /// Skips holds of a known key; with none, no hold is skipped.
    pub fn skip(&mut self, key: &DbKey, skipped: Option<Skipped>) {
        let seen = self.databases.get_mut(&key.db).and_then(|db| db.seen.get_mut(&key.key));
        if let Some(seen) = seen {
            seen.skipped = skipped;
        }
    }

    /// Notes that a key has no holds.
    pub fn remove(&mut self, key: &DbKey) {
        let Some(database) = self.databases.get_mut(&key.db) else { return };
        database.parked.remove(&key.key);
        if let Some(seen) = database.seen.remove(&key.key) {
            database.queue.remove(&(seen.at, Rc::clone(&key.key)));
            database.holds = database.holds.saturating_sub(seen.holds);
        }
    }

    /// Notes that the holds of a key belong to no managed voucher.
    pub fn park(&mut self, key: &DbKey) {
        self.remove(key);
        self.databases.entry(key.db).or_default().parked.insert(Rc::clone(&key.key));
    }

    /// Marks a key if it is parked, since its voucher may be managed now. True if it was parked.
    pub fn mark_if_parked(&mut self, db: i32, key: &[u8]) -> bool {
        let Some(database) = self.databases.get_mut(&db) else { return false };
        database.parked.take(key).is_some_and(|name| database.marked.insert(name))
    }

    /// Marks every parked key: they may belong to a managed voucher now.
    pub fn mark_parked(&mut self) {
        for database in self.databases.values_mut() {
            database.marked.extend(database.parked.drain());
        }
    }

    /// The key that is due first, if one is due.
    pub fn due(&self, now: Millis) -> Option<DbKey> {
        let (at, db, key) = self.first()?;
        (at <= now).then(|| DbKey { db, key: Rc::clone(key) })
    }

    fn first(&self) -> Option<(Millis, i32, &Name)> {
        let firsts = self
            .databases
            .iter()
            .filter_map(|(db, database)| database.queue.first().map(|(at, key)| (*at, *db, key)));
        firsts.min()
    }

    /// Is there a key that has changed since the last look?
    pub fn has_marked(&self) -> bool {
        self.databases.values().any(|database| !database.marked.is_empty())
    }

    /// When the first key is due.
    pub fn first_due(&self) -> Option<Millis> {
        self.first().map(|(at, _, _)| at)
    }

    /// How many holds there were at the last look at each key.
    pub fn holds(&self) -> u64 {
        self.databases.values().fold(0, |sum, database| sum.saturating_add(database.holds))
    }

    /// A database was emptied, or all of them.
    pub fn flushed(&mut self, db: Option<i32>) {
        match db {
            Some(db) => drop(self.databases.remove(&db)),
            None => self.databases.clear(),
        }
    }

    /// Two databases were swapped.
    pub fn swapped(&mut self, first: i32, second: i32) {
        let databases = std::mem::take(&mut self.databases);
        let moved = databases.into_iter();
        self.databases = moved.map(|(db, keys)| (swapped_db(db, first, second), keys)).collect();
    }

    /// All data was replaced, and the keys of the new data are already marked: forgets the old
    /// keys.
    pub fn replaced(&mut self) {
        for database in self.databases.values_mut() {
            *database =
                Database { marked: std::mem::take(&mut database.marked), ..Database::default() };
        }
    }

    /// Forgets the keys for which `left` is true: they are on another node now. Takes time per
    /// holds key of the index.
    pub fn forget(&mut self, left: impl Fn(&[u8]) -> bool) {
        for database in self.databases.values_mut() {
            database.marked.retain(|key| !left(key));
            database.parked.retain(|key| !left(key));
            database.queue.retain(|(_, key)| !left(key));
            database.seen.retain(|key, _| !left(key));
            database.holds =
                database.seen.values().fold(0, |sum, seen| sum.saturating_add(seen.holds));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DueIndex, HoldPosition, Skipped};
    use crate::db_key::DbKey;
    use std::collections::BTreeMap;

    fn key(db: i32, key: &str) -> DbKey {
        DbKey::new(db, key.as_bytes())
    }

    #[test]
    fn the_earliest_comes_first() {
        let mut index = DueIndex::default();
        assert_eq!((index.first_due(), index.due(i64::MAX), index.holds()), (None, None, 0));
        index.set(&key(0, "a"), 20, 2);
        index.set(&key(1, "b"), 10, 1);
        assert_eq!((index.first_due(), index.holds()), (Some(10), 3));
        assert_eq!(index.due(9), None);
        assert_eq!(index.due(10), Some(key(1, "b")));
        index.set(&key(1, "b"), 30, 5);
        assert_eq!(index.due(25), Some(key(0, "a")));
        index.remove(&key(0, "a"));
        index.remove(&key(0, "a"));
        assert_eq!((index.first_due(), index.holds()), (Some(30), 5));
    }

    #[test]
    fn a_mark_is_taken_once() {
        let mut index = DueIndex::default();
        index.set(&key(0, "a"), 20, 2);
        index.mark(0, b"a");
        index.mark(0, b"a");
        assert!(index.has_marked());
        assert_eq!(index.take_marked(), Some(key(0, "a")));
        assert_eq!(index.take_marked(), None);
        assert_eq!((index.has_marked(), index.first_due()), (false, Some(20)));
    }

    #[test]
    fn a_parked_key_is_looked_at_when_names_change() {
        let mut index = DueIndex::default();
        index.set(&key(0, "a"), 20, 2);
        index.park(&key(0, "a"));
        assert_eq!((index.first_due(), index.holds(), index.has_marked()), (None, 0, false));
        index.mark_parked();
        assert_eq!(index.take_marked(), Some(key(0, "a")));
        // Each is parked once, and no longer once it is known.
        index.mark_parked();
        index.park(&key(0, "a"));
        index.set(&key(0, "a"), 20, 2);
        index.mark_parked();
        assert!(!index.has_marked());
        index.park(&key(0, "a"));
        index.mark_if_parked(1, b"a");
        index.mark_if_parked(0, b"b");
        assert!(!index.has_marked());
        index.mark_if_parked(0, b"a");
        assert_eq!(index.take_marked(), Some(key(0, "a")));
        index.mark_parked();
        assert!(!index.has_marked());
    }

    #[test]
    fn what_is_skipped_stays_so_until_the_key_is_gone() {
        let mut index = DueIndex::default();
        let behind = HoldPosition { deadline: 5, id: Some(b"o1".to_vec()) };
        let skipped = Skipped { behind, until: 1000 };
        index.skip(&key(0, "a"), Some(skipped.clone()));
        assert_eq!(index.skipped(&key(0, "a")), None);
        index.set(&key(0, "a"), 20, 2);
        index.skip(&key(0, "a"), Some(skipped.clone()));
        index.set(&key(0, "a"), 30, 1);
        index.retry(&key(0, "a"), 40);
        assert_eq!((index.first_due(), index.holds()), (Some(40), 1));
        assert_eq!(index.skipped(&key(0, "a")), Some(&skipped));
        index.swapped(0, 3);
        assert_eq!(index.skipped(&key(3, "a")), Some(&skipped));
        index.remove(&key(3, "a"));
        index.set(&key(3, "a"), 20, 2);
        assert_eq!(index.skipped(&key(3, "a")), None);
    }

    #[test]
    fn keys_on_another_node_are_forgotten() {
        let mut index = DueIndex::default();
        for name in ["a1", "a2", "b1"] {
            index.set(&key(0, name), 20, 2);
            index.mark(0, name.as_bytes());
        }
        index.park(&key(0, "a3"));
        index.forget(|key| key.starts_with(b"a"));
        assert_eq!((index.holds(), index.take_marked()), (2, Some(key(0, "b1"))));
        assert_eq!(index.due(20), Some(key(0, "b1")));
        index.mark_parked();
        assert!(!index.has_marked());
    }

    #[test]
    fn replaced_data_keeps_the_marks_only() {
        let mut index = DueIndex::default();
        index.set(&key(0, "old"), 20, 2);
        index.mark(0, b"new");
        index.replaced();
        assert_eq!((index.first_due(), index.holds()), (None, 0));
        assert_eq!(index.take_marked(), Some(key(0, "new")));
    }

    /// Random changes, compared with a plain map of what is known of every key.
    #[test]
    fn the_index_follows_a_model() {
        let mut random = fastrand::Rng::with_seed(5);
        let mut index = DueIndex::default();
        let mut model: BTreeMap<DbKey, (i64, u64)> = BTreeMap::new();
        for _ in 0..20_000 {
            let key = key(random.i32(0..3), ["a", "b", "c", "d"][random.usize(0..4)]);
            match random.u32(0..20) {
                0..=11 => {
                    let (at, holds) = (random.i64(1..50), random.u64(1..9));
                    index.set(&key, at, holds);
                    model.insert(key, (at, holds));
                }
                12..=16 => {
                    index.remove(&key);
                    model.remove(&key);
                }
                17 => {
                    index.flushed(Some(key.db));
                    model.retain(|other, _| other.db != key.db);
                }
                18 if random.u32(0..9) == 0 => {
                    index.flushed(None);
                    model.clear();
                }
                _ => {
                    index.swapped(0, key.db);
                    let db = |db| super::swapped_db(db, 0, key.db);
                    let moved = |k: DbKey| DbKey { db: db(k.db), ..k };
                    model = model.into_iter().map(|(k, v)| (moved(k), v)).collect();
                }
            }
            assert_eq!(index.first_due(), model.values().map(|(at, _)| *at).min());
            assert_eq!(index.holds(), model.values().map(|(_, holds)| *holds).sum::<u64>());
            let due = index.due(25).map(|key| model[&key].0);
            assert_eq!(due, index.first_due().filter(|at| *at <= 25));
        }
    }
}
