//! Runs a sale again with one change, to see what matters.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use domain::integer;

use crate::explore::{HUGE, ONE, Plan, Run};
use crate::reply::Reply;
use crate::template::{Part, Slot, Template};
use crate::watch::Watch;
use crate::wire::Words;
use crate::world::{Cell, Kind};

/// More than HUGE units.
const FULL: &[u8] = b"99000000000000";

/// The argument that is the number of units, which is 1 in a sale, and the calls of the same sale
/// of 2.
pub struct Units {
    pub slot: Slot,
    pub calls: Vec<Words>,
}

impl Units {
    /// What a word of a call is made of, if it differs between the two sales.
    pub fn template(&self, call: usize, place: usize, word: &[u8]) -> Option<Template> {
        let other = self.calls.get(call)?.get(place)?;
        match (word, other.as_slice()) {
            (b"1", b"2") => Some(Template::alone(self.slot)),
            (b"-1", b"-2") => {
                Some(Template(vec![Part::Text(b"-".to_vec()), Part::Slot(self.slot)]))
            }
            _ => None,
        }
    }
}

/// When a script sells.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Window {
    pub begin: Option<Side>,
    pub end: Option<Side>,
}

/// An argument that is the begin or the end of the sale.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Side {
    pub slot: Slot,
    /// What is replied before the begin, or after the end.
    pub reply: Reply,
    /// In seconds, or else in milliseconds.
    pub in_seconds: bool,
}

pub struct Trial<'a> {
    pub watch: &'a mut Watch,
    pub script: &'a [u8],
    pub slots: &'a [Slot],
}

impl Trial<'_> {
    pub fn run(&mut self, plan: Plan) -> Result<Run> {
        plan.run(self.watch, self.script, self.slots)
    }

    fn with(&mut self, run: &Run, cell: &Cell, value: &[u8]) -> Result<Run> {
        let mut plan = run.plan.clone();
        plan.cells.insert(cell.clone(), value.to_vec());
        self.run(plan)
    }

    /// The same sale with as little planted as possible, and as few arguments as possible that are
    /// not their marks; and among these the argument that is the number of units.
    pub fn simplest(&mut self, mut run: Run) -> Result<(Run, Option<Units>)> {
        let stock = run.stock();
        let mut plans = Vec::new();
        plans.extend(run.plan.slots.keys().map(|slot| (Some(*slot), None)));
        plans.extend(run.plan.cells.keys().map(|cell| (None, Some(cell.clone()))));
        for (slot, cell) in plans {
            let mut plan = run.plan.clone();
            slot.map(|slot| plan.slots.remove(&slot));
            cell.map(|cell| plan.cells.remove(&cell));
            if !plan.cells.contains_key(&stock) {
                continue;
            }
            let other = self.run(plan)?;
            if other.sells() && other.effects().taken.iter().any(|(cell, _)| *cell == stock) {
                run = other;
            }
        }
        let ones: Vec<Slot> = run.plan.slots.keys().copied().collect();
        for slot in ones.into_iter().filter(|_| run.units() == Some(1)) {
            let mut plan = run.plan.clone();
            plan.slots.insert(slot, b"2".to_vec());
            let two = self.run(plan)?;
            if two.units() == Some(2) {
                return Ok((run, Some(Units { slot, calls: two.seen.calls })));
            }
        }
        Ok((run, None))
    }

    /// The arguments that are the begin and the end of the sale, each with the reply at any other
    /// time, for a script that asks for the time.
    pub fn window(&mut self, run: &Run) -> Result<Window> {
        let mut window = Window::default();
        if !run.seen.calls.iter().any(|call| call[0] == b"TIME") {
            return Ok(window);
        }
        let stock = run.stock();
        for slot in self.slots.iter().copied().filter(|slot| !slot.is_key()) {
            let mut refused_at = |value: &[u8]| -> Result<Option<Reply>> {
                let mut plan = run.plan.clone();
                plan.slots.insert(slot, value.to_vec());
                // More units than are in stock are refused, too.
                plan.cells.entry(stock.clone()).and_modify(|units| *units = FULL.to_vec());
                let other = self.run(plan)?;
                let is_refused = other.effects().is_none() && !other.seen.reply.is_error();
                Ok(is_refused.then_some(other.seen.reply))
            };
            let (one, huge) = (refused_at(ONE)?, refused_at(HUGE)?);
            // A minute ago in milliseconds is far ahead in seconds.
            let at = now_ms()? - 60_000;
            let is_ahead = refused_at(at.to_string().as_bytes())?;
            match (one, huge) {
                (None, Some(reply)) => {
                    window.begin = Some(Side { slot, reply, in_seconds: is_ahead.is_some() });
                }
                (Some(reply), None) => {
                    window.end = Some(Side { slot, reply, in_seconds: is_ahead.is_none() });
                }
                _ => {}
            }
        }
        Ok(window)
    }

    /// Whether the same call sells every time.
    pub fn sells_always(&mut self, run: &Run) -> Result<bool> {
        for _ in 0..20 {
            if !self.run(run.plan.clone())?.sells() {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether it takes the same number of units from a stock with a thousand units more.
    pub fn is_steady(&mut self, run: &Run) -> Result<bool> {
        let stock = run.stock();
        let held = run.plan.cells.get(&stock).and_then(|text| integer::parse(text));
        let more = held.unwrap_or_default().saturating_add(1000).to_string();
        Ok(self.with(run, &stock, more.as_bytes())?.units() == run.units())
    }

    /// Whether it is a reentrant lock, which counts its acquisitions: releasing the last one
    /// deletes the field.
    pub fn is_reentrant(&mut self, run: &Run) -> Result<bool> {
        let stock = run.stock();
        let huge = run.plan.cells.get(&stock).is_some_and(|text| text == HUGE);
        Ok(stock.kind == Kind::Hash
            && huge
            && !self.with(run, &stock, ONE)?.seen.after.cells.contains_key(&stock))
    }

    /// Numbers that it only increments.
    pub fn counted(&mut self, run: &Run) -> Result<Vec<Cell>> {
        let effects = run.effects();
        let made = effects.made.iter().filter(|(_, value)| integer::parse(value).is_some());
        let numbers = effects.given.iter().map(|(cell, _)| cell).chain(made.map(|(cell, _)| cell));
        let is_number = |cell: &&Cell| matches!(cell.kind, Kind::Text | Kind::Hash);
        let mut counted = Vec::new();
        for cell in numbers.filter(is_number) {
            if self.only_counts(run, cell)? {
                counted.push(cell.clone());
            }
        }
        Ok(counted)
    }

    /// Whether a sale is the same whatever the value of a number is.
    fn only_counts(&mut self, run: &Run, cell: &Cell) -> Result<bool> {
        for value in [HUGE, b"1000", ONE, b"0"] {
            let other = self.with(run, cell, value)?;
            if !other.sells()
                || other.units() != run.units()
                || other.seen.reply != run.seen.reply
                || other.seen.calls.len() != run.seen.calls.len()
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// The time by this machine's clock, which is also that of the servers.
pub fn now_ms() -> Result<i64> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock is before 1970")?;
    i64::try_from(since.as_millis()).context("the clock is too far ahead")
}
