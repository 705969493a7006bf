//! A key of one database, as what is remembered names it.

use std::rc::Rc;

/// A key and the number of the database that it is in. Clones share the name.
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

/// The number that database `db` has once `first` and `second` have changed places.
pub fn swapped_db(db: i32, first: i32, second: i32) -> i32 {
    match db {
        db if db == first => second,
        db if db == second => first,
        db => db,
    }
}
