//! A key of one database, as the module's memory names it.

use std::rc::Rc;

/// A key's name and the number of its database. Clones share the name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DbKey {
    pub db: i32,
    pub key: Rc<[u8]>,
}

impl DbKey {
    pub fn new(db: i32, key: &[u8]) -> Self {
        Self { db, key: key.into() }
    }
}

/// The number that database `db` has after `first` and `second` were swapped.
pub fn swapped_db(db: i32, first: i32, second: i32) -> i32 {
    match db {
        db if db == first => second,
        db if db == second => first,
        db => db,
    }
}
