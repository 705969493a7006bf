//! Locks that are tied to connections: what to release when a connection closes.
//!
//! A pure structure, without server or clock. A tie is a hint: before releasing its lock, the
//! caller checks that the lock is still held with the token. A step takes a time that does not grow
//! with the other ties, except those on whole databases.

use crate::counts::Counts;
use crate::db_key::DbKey;
use crate::slot::Slot;
use std::collections::hash_set::IntoIter;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// A client's connection, by a number that is never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionId(pub u64);

/// A lock, and the token with which it was tied.
#[derive(Debug, PartialEq, Eq)]
pub struct Tied {
    pub lock: DbKey,
    pub token: Rc<[u8]>,
}

struct Tie {
    token: Rc<[u8]>,
    connection: ConnectionId,
    user: Rc<[u8]>,
}

/// All ties, at most one per lock.
///
/// Internally a database has a label, which stays the same when its number changes.
#[derive(Default)]
pub struct Sessions {
    labels: Labels,
    ties: HashMap<i32, HashMap<Rc<[u8]>, Tie>>,
    count: Counts,
    by_slot: BTreeMap<u16, HashSet<DbKey>>,
    /// The locks of open connections that have any.
    open: HashMap<ConnectionId, HashSet<DbKey>>,
    /// The remaining locks of closed connections. Some may no longer be tied.
    closed: VecDeque<(ConnectionId, IntoIter<DbKey>)>,
}

impl Sessions {
    /// The lock is held with this token until this user's connection closes. Ends an earlier tie.
    pub fn tie(&mut self, lock: &DbKey, token: Rc<[u8]>, connection: ConnectionId, user: Rc<[u8]>) {
        self.end(lock.db, &lock.key);
        let label = self.labels.of(lock.db);
        let ties = self.ties.entry(label).or_default();
        self.count.add(&user);
        ties.insert(Rc::clone(&lock.key), Tie { token, connection, user });
        let name = DbKey { db: label, key: Rc::clone(&lock.key) };
        self.by_slot.entry(Slot::of(&name.key).number()).or_default().insert(name.clone());
        self.open.entry(connection).or_default().insert(name);
    }

    /// The lock is no longer tied to a connection.
    pub fn end(&mut self, db: i32, key: &[u8]) {
        let label = self.labels.of(db);
        let Some((key, _)) = self.ties.get(&label).and_then(|ties| ties.get_key_value(key)) else {
            return;
        };
        let name = DbKey { db: label, key: Rc::clone(key) };
        let Some(tie) = self.remove(&name) else { return };
        let Some(names) = self.open.get_mut(&tie.connection) else { return };
        names.remove(&name);
        if names.is_empty() {
            self.open.remove(&tie.connection);
        }
    }

    /// Removes a tie, but not from its connection.
    fn remove(&mut self, name: &DbKey) -> Option<Tie> {
        let ties = self.ties.get_mut(&name.db)?;
        let tie = ties.remove(&name.key)?;
        if ties.is_empty() {
            self.ties.remove(&name.db);
        }
        self.count.remove(&tie.user);
        let slot = Slot::of(&name.key).number();
        if let Some(names) = self.by_slot.get_mut(&slot) {
            names.remove(name);
            if names.is_empty() {
                self.by_slot.remove(&slot);
            }
        }
        Some(tie)
    }

    /// Another client was answered that it holds the lock: it is not released for a connection that
    /// closed earlier.
    pub fn keep(&mut self, db: i32, key: &[u8]) {
        let tie = self.ties.get(&self.labels.of(db)).and_then(|ties| ties.get(key));
        if tie.is_some_and(|tie| !self.open.contains_key(&tie.connection)) {
            self.end(db, key);
        }
    }

    /// The connection has closed. False if no lock was tied to it.
    pub fn close(&mut self, connection: ConnectionId) -> bool {
        let Some(names) = self.open.remove(&connection) else { return false };
        self.closed.push_back((connection, names.into_iter()));
        true
    }

    /// The next lock to be released for a closed connection. Its tie is over.
    pub fn next_closed(&mut self) -> Option<Tied> {
        while let Some((connection, names)) = self.closed.front_mut() {
            let connection = *connection;
            let Some(name) = names.next() else {
                self.closed.pop_front();
                continue;
            };
            // The lock may have been tied to another connection since.
            let tie = self.ties.get(&name.db).and_then(|ties| ties.get(&name.key));
            if tie.is_none_or(|tie| tie.connection != connection) {
                continue;
            }
            let Some(tie) = self.remove(&name) else { continue };
            let lock = DbKey { db: self.labels.number(name.db), key: name.key };
            return Some(Tied { lock, token: tie.token });
        }
        None
    }

    /// May a lock have to be released?
    pub fn has_closed(&self) -> bool {
        !self.closed.is_empty()
    }

    /// Is no lock tied, and none left to release?
    pub fn is_empty(&self) -> bool {
        self.ties.is_empty() && self.closed.is_empty()
    }

    /// How many locks are tied, including those of closed connections.
    pub fn count(&self) -> &Counts {
        &self.count
    }

    /// The connection that a lock is tied to, open or closed.
    pub fn connection(&self, db: i32, key: &[u8]) -> Option<ConnectionId> {
        let tie = self.ties.get(&self.labels.of(db))?.get(key)?;
        Some(tie.connection)
    }

    /// Two databases were swapped, with their locks.
    pub fn swap(&mut self, first: i32, second: i32) {
        self.labels.swap(first, second);
    }

    /// A database was emptied. Takes time per lock that was tied in it.
    pub fn flushed(&mut self, db: i32) {
        let keys = self.ties.get(&self.labels.of(db)).map(|ties| ties.keys().cloned());
        for key in keys.into_iter().flatten().collect::<Vec<_>>() {
            self.end(db, &key);
        }
    }

    /// The locks of these slots are on another node. Takes time per lock that was tied in them.
    pub fn leave(&mut self, slots: RangeInclusive<u16>) {
        let names = self.by_slot.range(slots).flat_map(|(_, names)| names.iter().cloned());
        for name in names.collect::<Vec<_>>() {
            self.end(self.labels.number(name.db), &name.key);
        }
    }
}

/// Labels of databases, which stay while numbers change: at first a database's label is its number.
#[derive(Default)]
struct Labels {
    by_number: HashMap<i32, i32>,
    by_label: HashMap<i32, i32>,
}

impl Labels {
    fn of(&self, db: i32) -> i32 {
        self.by_number.get(&db).copied().unwrap_or(db)
    }

    fn number(&self, label: i32) -> i32 {
        self.by_label.get(&label).copied().unwrap_or(label)
    }

    fn swap(&mut self, first: i32, second: i32) {
        let (of_first, of_second) = (self.of(first), self.of(second));
        for (db, label) in [(first, of_second), (second, of_first)] {
            self.by_number.insert(db, label);
            self.by_label.insert(label, db);
        }
    }
}

#[cfg(test)]
mod tests;
