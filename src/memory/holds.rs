//! When to look at which holds: the index of holds keys, and the scan for keys that were there
//! before the module.

use crate::config;
use crate::server::MainThread;
use domain::db_key::{DbKey, swapped_db};
use domain::due::{DueIndex, Skipped};
use domain::rules::Millis;
use std::collections::HashMap;

/// What is remembered of holds.
pub(crate) struct Holds {
    index: MainThread<DueIndex>,
    scan: MainThread<Scan>,
    /// The settings about names under which holds keys were parked.
    parked_under: MainThread<u64>,
    /// When the log last said that holds could not be released.
    complained_ms: MainThread<Millis>,
    /// What can't be done for lack of a key: that key, and the holds or the queue. Beside this, it
    /// is tried again from time to time.
    awaited: MainThread<HashMap<DbKey, DbKey>>,
    is_awaiting: MainThread<bool>,
}

/// How many missing keys are remembered.
const AWAITED_MAX: usize = 10_000;

impl Holds {
    pub(super) fn new(databases: Vec<i32>) -> Self {
        Self {
            index: MainThread::new(DueIndex::default()),
            scan: MainThread::new(Scan::new(databases)),
            parked_under: MainThread::new(config::naming_generation()),
            complained_ms: MainThread::new(0),
            awaited: MainThread::default(),
            is_awaiting: MainThread::new(false),
        }
    }

    /// Works on the index.
    pub(crate) fn index<R>(&self, work: impl FnOnce(&mut DueIndex) -> R) -> R {
        self.index.with(work)
    }

    /// Works on the scan.
    pub(crate) fn scan<R>(&self, work: impl FnOnce(&mut Scan) -> R) -> R {
        self.scan.with(work)
    }

    /// How many holds are open, in the keys read so far.
    pub(crate) fn open(&self) -> u64 {
        self.index.with(|index| index.holds())
    }

    pub(crate) fn mark(&self, db: i32, key: &[u8]) {
        self.index.with(|index| index.mark(db, key));
    }

    pub(super) fn mark_if_parked(&self, db: i32, key: &[u8]) -> bool {
        self.index.with(|index| index.mark_if_parked(db, key))
    }

    /// Remembers that holds or a queue lack a key.
    pub(crate) fn wait_for(&self, missing: DbKey, timed: &DbKey) {
        self.awaited.with(|awaited| {
            if awaited.len() >= AWAITED_MAX {
                awaited.clear();
            }
            awaited.insert(missing, timed.clone());
        });
        self.is_awaiting.set(true);
    }

    /// A key that holds or a queue lacked may have come: these are to be looked at. True if so.
    pub(super) fn mark_if_awaited(&self, db: i32, key: &[u8]) -> bool {
        if !self.is_awaiting.get() {
            return false;
        }
        let (timed, is_awaiting) = self.awaited.with(|awaited| {
            let timed = awaited.remove(&DbKey::new(db, key));
            (timed, !awaited.is_empty())
        });
        self.is_awaiting.set(is_awaiting);
        let Some(timed) = timed else { return false };
        self.index.with(|index| {
            index.skip(&timed, None);
            index.mark(timed.db, &timed.key);
        });
        true
    }

    /// Is there something to look at now: a key that changed, or a part of the keyspace?
    pub(crate) fn has_work(&self) -> bool {
        self.index.with(|index| index.has_marked()) || !self.scan.with(|scan| scan.is_over())
    }

    /// When the first key is due.
    pub(crate) fn first_due(&self) -> Option<Millis> {
        self.index.with(|index| index.first_due())
    }

    /// The holds of a key that are left alone for now, if they are still left alone at `now`.
    pub(crate) fn skipped(&self, key: &DbKey, now: Millis) -> Option<Skipped> {
        self.index.with(|index| index.skipped(key).filter(|skipped| now < skipped.until).cloned())
    }

    /// Whether the log may say now that holds can't be released, at most once per minute.
    pub(crate) fn may_complain(&self, now: Millis) -> bool {
        let since = now.saturating_sub(self.complained_ms.get());
        // The clock may have been set back.
        let may = !(0..60_000).contains(&since);
        if may {
            self.complained_ms.set(now);
        }
        may
    }

    pub(super) fn flushed(&self, db: Option<i32>) {
        self.index.with(|index| index.flushed(db));
        self.scan.with(|scan| scan.flushed(db));
    }

    pub(super) fn swapped(&self, first: i32, second: i32) {
        self.index.with(|index| index.swapped(first, second));
        self.scan.with(|scan| scan.swapped(first, second));
    }

    pub(super) fn replaced(&self) {
        self.index.with(DueIndex::replaced);
        self.scan.with(|scan| scan.flushed(None));
    }

    pub(super) fn forget(&self, left: impl Fn(&[u8]) -> bool) {
        self.index.with(|index| index.forget(left));
    }

    /// A setting was changed. Holds that belonged to no voucher may belong to one under other
    /// names.
    pub(super) fn configured(&self) {
        let generation = config::naming_generation();
        if self.parked_under.get() != generation {
            self.parked_under.set(generation);
            self.index.with(DueIndex::mark_parked);
        }
    }
}

/// The progress of the search for holds keys: what is left of each database.
#[derive(Debug, Default)]
pub(crate) struct Scan(Vec<(i32, Vec<u8>)>);

impl Scan {
    /// The cursor at the start of a database, and at its end.
    const START: &[u8] = b"0";

    fn new(databases: Vec<i32>) -> Self {
        let at_start = |db| (db, Self::START.to_vec());
        // Taken from the end.
        Self(databases.into_iter().rev().map(at_start).collect())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.0.is_empty()
    }

    /// The database and the cursor to go on with.
    pub(crate) fn next(&self) -> Option<(i32, Vec<u8>)> {
        self.0.last().cloned()
    }

    /// The step that [`Scan::next`] returned was taken: the database continues at this cursor.
    pub(crate) fn went_on(&mut self, cursor: &[u8]) {
        if cursor == Self::START {
            self.0.pop();
        } else if let Some((_, last)) = self.0.last_mut() {
            *last = cursor.to_vec();
        }
    }

    /// The database that [`Scan::next`] returned can't be scanned.
    pub(crate) fn give_up(&mut self) {
        self.0.pop();
    }

    fn flushed(&mut self, db: Option<i32>) {
        self.0.retain(|(left, _)| db.is_some_and(|db| *left != db));
    }

    /// Two databases were swapped, with their keys and so with the cursors into them.
    fn swapped(&mut self, first: i32, second: i32) {
        for (db, _) in &mut self.0 {
            *db = swapped_db(*db, first, second);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Scan;

    fn left(scan: &mut Scan) -> Vec<(i32, Vec<u8>)> {
        let mut left = Vec::new();
        while let Some(next) = scan.next() {
            left.push(next);
            scan.give_up();
        }
        left
    }

    #[test]
    fn databases_are_scanned_one_after_the_other() {
        let mut scan = Scan::new(vec![0, 3]);
        assert_eq!(scan.next(), Some((0, b"0".to_vec())));
        scan.went_on(b"17");
        assert_eq!(scan.next(), Some((0, b"17".to_vec())));
        scan.went_on(b"0");
        assert_eq!(scan.next(), Some((3, b"0".to_vec())));
        scan.went_on(b"0");
        assert!(scan.is_over());
        assert_eq!(scan.next(), None);
    }

    #[test]
    fn a_position_moves_with_its_database() {
        let mut scan = Scan::new(vec![0, 1]);
        scan.went_on(b"17");
        scan.swapped(0, 1);
        assert_eq!(left(&mut scan), [(1, b"17".to_vec()), (0, b"0".to_vec())]);
        // The rest of a database is still to be scanned under its new number.
        let mut scan = Scan::new(vec![0, 1]);
        scan.went_on(b"0");
        scan.went_on(b"5");
        scan.swapped(0, 1);
        assert_eq!(left(&mut scan), [(0, b"5".to_vec())]);
    }

    #[test]
    fn an_empty_database_needs_no_scan() {
        let mut scan = Scan::new(vec![0, 1, 2]);
        scan.flushed(Some(1));
        assert_eq!(left(&mut scan), [(0, b"0".to_vec()), (2, b"0".to_vec())]);
        let mut scan = Scan::new(vec![0, 1]);
        scan.flushed(None);
        assert!(scan.is_over());
    }
}
