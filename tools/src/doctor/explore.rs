//! Calls a script with marks as arguments, and plants values where it reads, until it takes units
//! or nothing is left to try.

use std::collections::BTreeMap;

use anyhow::Result;
use domain::integer;

use crate::roles::Roles;
use crate::source::Source;
use crate::template::Slot;
use crate::watch::{Look, Seen, Watch, eval, looks, writes};
use crate::wire::Words;
use crate::world::{Cell, Cells, Change, Kind, is_near};

/// Greater than any mark, so that units can be taken; later than any time in milliseconds; and with
/// as many digits as Lua writes without an exponent.
pub const HUGE: &[u8] = b"90000000000000";
pub const ONE: &[u8] = b"1";
/// A number that changes by more than this, and not by a mark, counts as overwritten.
const STEP_MAX: u64 = 1_000_000;
const RUNS_MAX: usize = 240;
/// A world with more cells would explain nothing.
const CELLS_MAX: usize = 24;

/// What is planted, and the slots whose value is not their mark.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Plan {
    pub cells: Cells,
    pub slots: BTreeMap<Slot, Vec<u8>>,
}

#[derive(Clone, Debug)]
pub struct Run {
    pub plan: Plan,
    pub seen: Seen,
}

impl Plan {
    /// Runs a script in this world, with the marks of all other slots.
    pub fn run(self, watch: &mut Watch, script: &[u8], slots: &[Slot]) -> Result<Run> {
        let value = |slot: Slot| self.slots.get(&slot).cloned().unwrap_or_else(|| slot.mark());
        let seen = watch.run(&self.cells, &eval(script, slots, &value))?;
        Ok(Run { plan: self, seen })
    }
}

/// What a run changed.
#[derive(Clone, Default, Debug)]
pub struct Effects {
    /// Numbers that decreased, and by how much.
    pub taken: Vec<(Cell, i64)>,
    pub given: Vec<(Cell, i64)>,
    pub made: Vec<(Cell, Vec<u8>)>,
    pub gone: Vec<Cell>,
    pub entries: Vec<(Cell, Vec<u8>)>,
    pub rewritten: Vec<Cell>,
    /// Keys whose time to live changed.
    pub touched: Vec<Vec<u8>>,
}

/// Whether the last call that wrote to a key gave it a time to live, perhaps of a millisecond: if
/// the key is missing afterwards, that time is over, and no call deleted it.
fn is_expiring(calls: &[Words], key: &[u8]) -> bool {
    let names_it = |call: &&Words| call.iter().skip(1).any(|word| word == key);
    let last = calls.iter().filter(|call| writes(call)).rfind(names_it);
    last.is_some_and(|call| match call.as_slice() {
        [name, _, time, ..] if name == b"EXPIRE" || name == b"PEXPIRE" => {
            integer::parse(time).is_some_and(|time| time > 0)
        }
        _ => false,
    })
}

fn is_step(units: u64) -> bool {
    units <= STEP_MAX || i64::try_from(units).is_ok_and(Slot::is_mark)
}

impl Effects {
    pub fn of(seen: &Seen) -> Self {
        let mut effects = Self::default();
        for Change { cell, before, after } in seen.before.changes(&seen.after) {
            let number = |text: &Option<Vec<u8>>| text.as_ref().and_then(|t| integer::parse(t));
            match (number(&before), number(&after)) {
                (Some(one), Some(two)) if is_step(one.abs_diff(two)) && !Slot::is_mark(two) => {
                    if one > two {
                        effects.taken.push((cell, one - two));
                    } else {
                        effects.given.push((cell, two - one));
                    }
                }
                _ => match (before, after) {
                    (_, Some(value)) if cell.kind == Kind::Stream => {
                        effects.entries.push((cell, value));
                    }
                    (None, Some(value)) => effects.made.push((cell, value)),
                    (_, None) if is_expiring(&seen.calls, &cell.key) => {
                        effects.touched.push(cell.key);
                    }
                    (_, None) => effects.gone.push(cell),
                    (Some(one), Some(two)) if cell.kind == Kind::List => {
                        if two.len() < one.len() {
                            effects.gone.push(cell);
                        } else {
                            effects.made.push((cell, two));
                        }
                    }
                    _ => effects.rewritten.push(cell),
                },
            }
        }
        let (before, after) = (&seen.before.ttl, &seen.after.ttl);
        let keys = before.keys().chain(after.keys()).filter(|key| seen.after.has_key(key));
        let touched = keys.filter(|key| !is_near(before.get(*key), after.get(*key)));
        effects.touched.extend(touched.cloned());
        effects.touched.sort();
        effects.touched.dedup();
        effects
    }

    pub fn is_none(&self) -> bool {
        self.count() == 0
    }

    pub fn count(&self) -> usize {
        self.taken.len()
            + self.given.len()
            + self.made.len()
            + self.gone.len()
            + self.entries.len()
            + self.rewritten.len()
            + self.touched.len()
    }
}

impl Run {
    pub fn effects(&self) -> Effects {
        Effects::of(&self.seen)
    }

    pub fn sells(&self) -> bool {
        let effects = self.effects();
        !self.seen.reply.is_error() && !effects.taken.is_empty() && effects.gone.is_empty()
    }

    /// The first number that decreased, in a run that sells.
    pub fn stock(&self) -> Cell {
        self.effects().taken[0].0.clone()
    }

    pub fn units(&self) -> Option<i64> {
        self.effects().taken.first().map(|(_, units)| *units)
    }

    /// How informative a run is: a sale most, then any change, then no change, and an error least.
    fn worth(&self) -> (u8, usize, std::cmp::Reverse<usize>) {
        let effects = self.effects();
        let level = match (self.seen.reply.is_error(), effects.taken.is_empty()) {
            (false, false) if effects.gone.is_empty() => 5,
            (false, false) => 4,
            (true, false) => 3,
            (false, true) if !effects.is_none() => 2,
            (false, true) => 1,
            (true, true) => 0,
        };
        (level, effects.count(), std::cmp::Reverse(self.plan.cells.len()))
    }
}

/// All runs, the most informative first.
pub fn explore(watch: &mut Watch, source: &Source, roles: &Roles) -> Result<Vec<Run>> {
    let slots = roles.slots(source);
    let first = Plan { cells: Cells::new(), slots: roles.fixed() };
    let mut search = Search {
        free: slots.iter().copied().filter(|slot| !first.slots.contains_key(slot)).collect(),
        literals: source.literals(),
        kinds: BTreeMap::new(),
        known: vec![first.clone()],
        waiting: vec![((usize::MAX, true), 0, first)],
    };
    let mut runs: Vec<Run> = Vec::new();
    while runs.len() < RUNS_MAX {
        let best = search.waiting.iter().enumerate();
        let best = best.max_by_key(|(at, (score, rank, _))| {
            (*score, std::cmp::Reverse(*rank), std::cmp::Reverse(*at))
        });
        let Some(at) = best.map(|(at, _)| at) else { break };
        let (.., plan) = search.waiting.remove(at);
        let run = plan.run(watch, &source.text, &slots)?;
        search.learn(&run);
        let found = run.worth().0 == 5;
        runs.push(run);
        if found {
            break;
        }
    }
    // A stable sort: among equals the first run stays first.
    runs.sort_by_key(|run| std::cmp::Reverse(run.worth()));
    Ok(runs)
}

struct Search {
    free: Vec<Slot>,
    literals: Vec<Vec<u8>>,
    /// Kinds of keys, by the commands that were called on them.
    kinds: BTreeMap<Vec<u8>, Kind>,
    known: Vec<Plan>,
    /// How far the run that led to the plan got, how likely the plan helps, and the plan.
    waiting: Vec<((usize, bool), usize, Plan)>,
}

impl Search {
    fn learn(&mut self, Run { plan, seen }: &Run) {
        let looks: Vec<Look> = seen.calls.iter().flat_map(looks).collect();
        for look in &looks {
            if let Some(kind) = look.kind {
                self.kinds.insert(look.key.clone(), kind);
            }
        }
        let score = (seen.calls.len(), !seen.reply.is_error());
        let mut done: Vec<(&[u8], Option<&[u8]>)> = Vec::new();
        for look in &looks {
            let place = (look.key.as_slice(), look.item.as_deref());
            if done.contains(&place) {
                continue;
            }
            done.push(place);
            for (rank, cells) in self.alternatives(look).into_iter().enumerate() {
                let mut next = plan.clone();
                // A key has one kind.
                next.cells.retain(|cell, _| {
                    cells.iter().all(|(new, _)| new.key != cell.key || new.kind == cell.kind)
                });
                next.cells.extend(cells);
                self.push(score, rank, next);
            }
        }
        let arguments: Vec<Slot> =
            self.free.iter().copied().filter(|slot| !slot.is_key()).collect();
        let all = arguments.iter().map(|slot| (*slot, ONE.to_vec())).collect();
        self.push(score, 3, Plan { cells: plan.cells.clone(), slots: all });
        // One of them may be a time that is not over.
        let asks_time = seen.calls.iter().any(|call| call[0] == b"TIME");
        let values: &[&[u8]] = if asks_time { &[ONE, HUGE] } else { &[ONE] };
        for slot in arguments {
            for value in values {
                let mut next = plan.clone();
                next.slots.insert(slot, value.to_vec());
                self.push(score, 4, next);
            }
        }
    }

    fn push(&mut self, score: (usize, bool), rank: usize, plan: Plan) {
        if plan.cells.len() <= CELLS_MAX && !self.known.contains(&plan) {
            self.known.push(plan.clone());
            self.waiting.push((score, rank, plan));
        }
    }

    /// What could be planted where a script reads, the likeliest first.
    fn alternatives(&self, look: &Look) -> Vec<Vec<(Cell, Vec<u8>)>> {
        let known = look.kind.or_else(|| self.kinds.get(&look.key).copied());
        let kind = known.unwrap_or(Kind::Text);
        let cell = |item: &[u8]| Cell { key: look.key.clone(), kind, item: item.to_vec() };
        let item = look.item.clone();
        let texts = || {
            let marks = self.free.iter().map(|slot| slot.mark());
            let short = self.literals.iter().filter(|text| text.len() < 16).take(8).cloned();
            let first = [HUGE.to_vec(), ONE.to_vec()];
            first.into_iter().chain(marks).chain(short).chain([b"0".to_vec()])
        };
        match (kind, item) {
            (Kind::Text, _) => texts().map(|text| vec![(cell(b""), text)]).collect(),
            (Kind::Hash, Some(field)) => texts().map(|text| vec![(cell(&field), text)]).collect(),
            (Kind::Hash, None) => {
                let fields = || self.literals.iter().take(CELLS_MAX / 2);
                let all = |value: &[u8]| fields().map(|f| (cell(f), value.to_vec())).collect();
                vec![all(HUGE), all(ONE)]
            }
            (Kind::Sorted, item) => {
                let cell = cell(&item.unwrap_or_else(|| b"item".to_vec()));
                [HUGE, ONE].map(|score| vec![(cell.clone(), score.to_vec())]).into()
            }
            (_, item) => {
                let value = if kind == Kind::List { b"+".to_vec() } else { Vec::new() };
                vec![vec![(cell(&item.unwrap_or_else(|| b"item".to_vec())), value)]]
            }
        }
    }
}
