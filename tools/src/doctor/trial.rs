//! A script on the bench, how it is called, and what one call did.

use std::collections::BTreeSet;

use anyhow::Result;

use crate::bench::{Bench, Entry, Seen};
use crate::call::{Call, Slot, Values};
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::lua::Lua;
use crate::source::Source;
use crate::template::Template;
use crate::wire::Words;

/// A script, as the server has it.
pub struct Script<'s> {
    pub source: &'s Source,
    pub text: &'s [u8],
    pub entry: Entry,
    /// The copy in which the parts of conditions are marked.
    pub marked: Entry,
    pub lua: Lua,
}

/// A script, where it runs, and how it is called.
pub struct Trial<'t, 'b> {
    pub bench: &'t mut Bench<'b>,
    pub script: &'t Script<'t>,
    pub call: Call,
}

pub type Plants = Vec<(Cell, Vec<u8>)>;

/// One call, and the keys before and after.
#[derive(Clone, Debug)]
pub struct Run {
    pub plants: Plants,
    pub values: Values,
    /// What each of KEYS and ARGV was.
    pub slots: Vec<(Slot, Vec<u8>)>,
    pub before: Keyspace,
    pub seen: Seen,
}

impl Trial<'_, '_> {
    /// Calls the script.
    pub fn run(&mut self, plants: Plants, values: Values, before: Keyspace) -> Result<Run> {
        let seen = self.bench.plain.run(&self.script.entry.words(&self.call, &values))?;
        Ok(Run { plants, slots: self.call.values(&values), values, before, seen })
    }

    /// Calls it, one after the other, on a server that has only what these commands make.
    pub fn play(&mut self, setup: &[Words], calls: &[Values]) -> Result<Vec<Run>> {
        self.bench.plain.clear()?;
        self.bench.plain.send(setup)?;
        let mut before = self.bench.plain.keys()?;
        let mut turns: Vec<Run> = Vec::new();
        for values in calls {
            let turn = self.run(Vec::new(), values.clone(), before)?;
            before = turn.seen.after.clone();
            turns.push(turn);
        }
        Ok(turns)
    }
}

impl Run {
    /// The commands that make the state.
    pub fn setup(&self) -> Vec<Words> {
        self.plants.iter().map(|(cell, value)| planted(cell, value)).collect()
    }

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
