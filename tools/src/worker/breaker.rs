//! The circuit breaker of a stream's intake: whether new entries may be read. Pure.
//!
//! If a database refuses everything, the database is at fault, not the orders. So after several
//! refusals in a row and no write in between, the worker reads no new entries and retries those
//! that it has. Now and then it reads one new entry, in case only the old ones are at fault.
//!
//! An entry for which a statement of the shop changed no row keeps the breaker open until it is
//! written.

use std::collections::BTreeSet;

use domain::entry_id::EntryId;

use crate::source::Which;

/// This many different entries refused, with none written in between, open the breaker.
const REFUSED_IN_A_ROW: usize = 8;

#[derive(Debug, Default)]
pub struct Breaker {
    in_a_row: BTreeSet<(Which, EntryId)>,
    is_open: bool,
    unchanged: BTreeSet<(Which, EntryId)>,
}

impl Breaker {
    /// True when this opens it.
    pub fn refused(&mut self, which: Which, id: EntryId) -> bool {
        if !self.is_open {
            self.in_a_row.insert((which, id));
        }
        let opens = !self.is_open && self.in_a_row.len() >= REFUSED_IN_A_ROW;
        self.is_open |= opens;
        opens
    }

    /// Something was written. True when this closes it.
    pub fn written(&mut self) -> bool {
        self.in_a_row.clear();
        std::mem::take(&mut self.is_open)
    }

    /// A statement of the shop changed nothing. True when this opens it.
    pub fn unchanged(&mut self, which: Which, id: EntryId) -> bool {
        let was_open = self.is_open();
        self.unchanged.insert((which, id));
        !was_open
    }

    /// The entry is written, or another worker has it. True when this closes it.
    pub fn gone(&mut self, which: Which, id: EntryId) -> bool {
        self.unchanged.remove(&(which, id)) && !self.is_open()
    }

    pub fn is_open(&self) -> bool {
        self.is_open || !self.unchanged.is_empty()
    }

    /// Whether a new entry may be read now and then.
    pub fn may_probe(&self) -> bool {
        self.unchanged.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(ms: u64) -> EntryId {
        EntryId { ms, seq: 0 }
    }

    #[test]
    fn opens_when_several_are_refused_in_a_row_and_closes_when_one_is_written() {
        let mut breaker = Breaker::default();
        for ms in 1..REFUSED_IN_A_ROW as u64 {
            assert!(!breaker.refused(Which::Orders, id(ms)));
        }
        assert!(!breaker.written(), "it was not open");
        for ms in 1..REFUSED_IN_A_ROW as u64 {
            assert!(!breaker.refused(Which::Orders, id(ms)));
            assert!(!breaker.refused(Which::Orders, id(ms)), "the same entry again");
        }
        assert!(breaker.refused(Which::Orders, id(99)));
        assert!(!breaker.refused(Which::Orders, id(100)), "it is open already");
        assert!(breaker.is_open() && breaker.written() && !breaker.is_open());
    }

    #[test]
    fn what_changes_nothing_keeps_it_open_until_it_is_written() {
        let mut breaker = Breaker::default();
        assert!(breaker.unchanged(Which::Orders, id(1)));
        assert!(!breaker.unchanged(Which::Orders, id(2)));
        assert!(!breaker.written() && breaker.is_open() && !breaker.may_probe());
        assert!(!breaker.gone(Which::Orders, id(1)) && breaker.is_open());
        assert!(breaker.gone(Which::Orders, id(2)) && !breaker.is_open());
        assert!(!breaker.gone(Which::Orders, id(2)), "it is not open");
    }
}
