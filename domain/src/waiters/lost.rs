//! Grants whose clients can't be answered, by lock, so that a lock's grants are found without
//! reading all.

use crate::db_key::DbKey;
use std::collections::BTreeMap;
use std::rc::Rc;

/// A grant whose client can't be answered: it must be undone.
#[derive(Debug, PartialEq, Eq)]
pub struct Lost {
    pub lock: DbKey,
    pub token: Rc<[u8]>,
}

/// All such grants.
#[derive(Default)]
pub(super) struct AllLost(BTreeMap<DbKey, Vec<Rc<[u8]>>>);

impl AllLost {
    pub(super) fn add(&mut self, lost: Lost) {
        self.0.entry(lost.lock).or_default().push(lost.token);
    }

    /// A client knows that it holds the lock with this token, so the grant is not undone.
    pub(super) fn remove(&mut self, lock: &DbKey, token: &[u8]) {
        let Some(tokens) = self.0.get_mut(lock) else { return };
        tokens.retain(|other| **other != *token);
        if tokens.is_empty() {
            self.0.remove(lock);
        }
    }

    pub(super) fn take_first(&mut self) -> Option<Lost> {
        let mut first = self.0.first_entry()?;
        let lock = first.key().clone();
        let token = first.get_mut().pop();
        if first.get().is_empty() {
            first.remove();
        }
        token.map(|token| Lost { lock, token })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    pub(super) fn retain(&mut self, is_kept: impl Fn(&DbKey) -> bool) {
        self.0.retain(|lock, _| is_kept(lock));
    }

    /// Renames locks. Takes time per lock.
    pub(super) fn rename(&mut self, renamed: impl Fn(DbKey) -> DbKey) {
        let all = std::mem::take(&mut self.0).into_iter();
        self.0 = all.map(|(lock, tokens)| (renamed(lock), tokens)).collect();
    }
}
