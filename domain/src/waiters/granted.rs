//! Clients that were granted a lock and are not answered yet, by lock.

use crate::db_key::DbKey;
use std::collections::BTreeMap;

pub(super) struct Granted<C>(BTreeMap<DbKey, Vec<C>>);

impl<C> Default for Granted<C> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<C: Copy + PartialEq> Granted<C> {
    pub(super) fn add(&mut self, lock: DbKey, client: C) {
        self.0.entry(lock).or_default().push(client);
    }

    pub(super) fn remove(&mut self, lock: &DbKey, client: C) {
        let Some(clients) = self.0.get_mut(lock) else { return };
        clients.retain(|other| *other != client);
        if clients.is_empty() {
            self.0.remove(lock);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The clients of one lock.
    pub(super) fn of(&self, lock: &DbKey) -> impl Iterator<Item = &C> {
        self.0.get(lock).into_iter().flatten()
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &C> {
        self.0.values().flatten()
    }

    /// Renames locks. Takes time per lock.
    pub(super) fn rename(&mut self, renamed: impl Fn(DbKey) -> DbKey) {
        let all = std::mem::take(&mut self.0).into_iter();
        self.0 = all.map(|(lock, clients)| (renamed(lock), clients)).collect();
    }
}
