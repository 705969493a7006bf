//! A script that is examined: its text, where it runs, how it is called, and what one call did.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::{Bench, Seen};
use crate::call::{Call, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::lua::Lua;
use crate::reply::Words;
use crate::source::Source;
use crate::template::{Slot, Template};

pub struct Examination<'e, 'b> {
    pub bench: &'e mut Bench<'b>,
    pub source: &'e Source,
    /// What the server was given.
    pub text: &'e [u8],
    pub sha: String,
    /// The sha1 of the copy in which the parts of conditions are marked.
    pub marked: String,
    pub lua: Lua,
    pub call: Call,
}

pub type Plants = Vec<(Cell, Vec<u8>)>;

/// One call, and the keys before and after.
#[derive(Clone)]
pub struct Run {
    pub plants: Plants,
    pub values: Values,
    /// What each of KEYS and ARGV was.
    pub slots: Vec<(Slot, Vec<u8>)>,
    pub before: Keyspace,
    pub seen: Seen,
}

impl Examination<'_, '_> {
    /// Calls the script on a server that has only what is planted.
    pub fn run(&mut self, plants: Plants, values: Values) -> Result<Run> {
        let before = self.bench.plain.begin(&setup(&plants))?;
        self.run_on(plants, values, before)
    }

    fn run_on(&mut self, plants: Plants, values: Values, before: Keyspace) -> Result<Run> {
        let seen = self.bench.plain.run(&self.call.words(&self.sha, &values))?;
        Ok(Run { plants, slots: self.call.values(&values), values, before, seen })
    }

    /// Calls it, one after the other, on a server that has only what these commands make.
    pub fn play(&mut self, setup: &[Words], calls: &[Values]) -> Result<Vec<Run>> {
        let mut before = self.bench.plain.begin(setup)?;
        let mut turns: Vec<Run> = Vec::new();
        for values in calls {
            turns.push(self.run_on(Vec::new(), values.clone(), before)?);
            before = turns[turns.len() - 1].seen.after.clone();
        }
        Ok(turns)
    }
}

/// The commands that make a state.
pub fn setup(plants: &Plants) -> Vec<Words> {
    plants.iter().map(|(cell, value)| planted(cell, value)).collect()
}

impl Run {
    pub fn changes(&self) -> Vec<Cell> {
        self.before.changes(&self.seen.after)
    }

    pub fn template(&self, text: &[u8]) -> Template {
        Template::of(text, &self.slots)
    }

    /// How many units it took from a number that was there, and still is.
    pub fn taken(&self, cell: &Cell) -> i64 {
        let numbers = self.before.number(cell).zip(self.seen.after.number(cell));
        numbers.map_or(0, |(old, new)| old.wrapping_sub(new))
    }

    /// The keys that changed, but for one cell: their kinds, and the caller's words in them.
    pub fn shape(&self, but: &Cell) -> BTreeSet<(Template, Kind)> {
        let others = self.changes().into_iter().filter(|cell| cell != but);
        others.map(|cell| (self.template(&cell.key), cell.kind)).collect()
    }

    /// The other cells that were not there before.
    pub fn added(&self, but: &Cell) -> Vec<Cell> {
        let is_new = |cell: &Cell| !self.before.cells.contains_key(cell) && cell != but;
        self.changes().into_iter().filter(is_new).collect()
    }

    /// Whether it wrote and then failed.
    pub fn halves(&self) -> Option<String> {
        let (reply, changed) = (&self.seen.reply, self.changes());
        let first = changed.first().filter(|_| reply.is_error())?;
        Some(format!("it is written by halves: the call fails ({reply}), and has changed {first}"))
    }
}
