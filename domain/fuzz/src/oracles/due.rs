//! The index of holds, compared step by step with maps.

use std::collections::{BTreeMap, BTreeSet};

use domain::db_key::{DbKey, swapped_db};
use domain::due::{DueIndex, HoldPosition, Skipped};

use crate::input::Input;

/// What is known of each key, and which keys are to be looked at.
#[derive(Default)]
struct Model {
    seen: BTreeMap<DbKey, Seen>,
    marked: BTreeSet<DbKey>,
    parked: BTreeSet<DbKey>,
}

#[derive(Clone, Default)]
struct Seen {
    at: i64,
    holds: u64,
    skipped: Option<Skipped>,
}

/// The index forgets no key, returns the earliest first, and follows swaps of databases.
pub(crate) fn due(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let (mut index, mut model) = (DueIndex::default(), Model::default());
    while !input.is_empty() {
        let key = DbKey::new(i32::from(input.below(3)), &[b'a' + input.below(4)]);
        let at = i64::from(input.below(50)) + 1;
        match input.below(9) {
            6..9 => whole(&mut input, &mut index, &mut model, &key),
            step => one(step, &mut index, &mut model, &key, at),
        }
        model.check(&index, &key);
    }
}

/// A step for one key.
fn one(step: u8, index: &mut DueIndex, model: &mut Model, key: &DbKey, at: i64) {
    match step {
        0 => {
            let holds = at.unsigned_abs();
            index.set(key, at, holds);
            let seen = model.seen.entry(key.clone()).or_default();
            (seen.at, seen.holds) = (at, holds);
            model.parked.remove(key);
        }
        1 => {
            index.retry(key, at);
            model.seen.entry(key.clone()).or_default().at = at;
            model.parked.remove(key);
        }
        2 => {
            index.remove(key);
            model.seen.remove(key);
            model.parked.remove(key);
        }
        3 => {
            index.park(key);
            model.seen.remove(key);
            model.parked.insert(key.clone());
        }
        4 => {
            let behind = HoldPosition { deadline: at, id: (at > 25).then(|| vec![b'o']) };
            let skipped = (at > 5).then_some(Skipped { behind, until: at + 9 });
            index.skip(key, skipped.clone());
            if let Some(seen) = model.seen.get_mut(key) {
                seen.skipped = skipped;
            }
        }
        _ => {
            index.mark(key.db, &key.key);
            model.marked.insert(key.clone());
        }
    }
}

/// A step for a database, a slot, or everything.
fn whole(input: &mut Input<'_>, index: &mut DueIndex, model: &mut Model, key: &DbKey) {
    match input.below(8) {
        0..3 => match index.take_marked() {
            Some(key) => assert!(model.marked.remove(&key), "it was not marked"),
            None => assert!(model.marked.is_empty(), "a mark was forgotten"),
        },
        3 => {
            index.mark_parked();
            model.marked.append(&mut model.parked);
        }
        4 => {
            let db = (key.db > 0).then_some(key.db);
            index.flushed(db);
            model.keep(|key| db.is_some_and(|db| key.db != db));
        }
        5 => {
            index.forget(|name| *name == *key.key);
            model.keep(|other| other.key != key.key);
        }
        6 => {
            index.replaced();
            *model = Model { marked: std::mem::take(&mut model.marked), ..Model::default() };
        }
        _ => {
            let second = i32::from(input.below(3));
            index.swapped(key.db, second);
            model.swap(key.db, second);
        }
    }
}

impl Model {
    fn keep(&mut self, stays: impl Fn(&DbKey) -> bool) {
        self.seen.retain(|key, _| stays(key));
        self.marked.retain(&stays);
        self.parked.retain(&stays);
    }

    fn swap(&mut self, first: i32, second: i32) {
        let moved = |key: DbKey| DbKey { db: swapped_db(key.db, first, second), ..key };
        let Self { seen, marked, parked } = std::mem::take(self);
        self.seen = seen.into_iter().map(|(key, seen)| (moved(key), seen)).collect();
        self.marked = marked.into_iter().map(moved).collect();
        self.parked = parked.into_iter().map(moved).collect();
    }

    fn check(&self, index: &DueIndex, key: &DbKey) {
        let first = self.seen.values().map(|seen| seen.at).min();
        assert_eq!(index.first_due(), first);
        assert_eq!(index.has_marked(), !self.marked.is_empty());
        assert_eq!(index.holds(), self.seen.values().map(|seen| seen.holds).sum::<u64>());
        let due = index.due(25).map(|key| self.seen[&key].at);
        assert_eq!(due, first.filter(|at| *at <= 25));
        let skipped = self.seen.get(key).and_then(|seen| seen.skipped.as_ref());
        assert_eq!(index.skipped(key), skipped);
    }
}
