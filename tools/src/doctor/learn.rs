//! Finds a state of keys in which a call does something: where the script reads a key that is not
//! there, the next run has one. What it then does shows which argument is what.

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;

use crate::act::{Act, Deed};
use crate::bench::Called;
use crate::call::{Call, Role, Values};
use crate::examination::{Examination, Plants, Run};
use crate::keyspace::{Cell, Kind};
use crate::reply::{Reply, Words};
use crate::template::Template;

/// A stock that no mark exceeds, so that any argument can be the units.
const PLENTY: &str = "900000000000";

/// How many states are tried.
const STATES_MAX: usize = 90;

/// What was learned: a sale, or else all calls, those in the smallest states first.
#[derive(Default)]
pub struct Learned {
    pub acts: Vec<Act>,
    pub runs: Vec<Run>,
}

impl Learned {
    pub fn sale(&self) -> Option<&Act> {
        self.acts.first().filter(|act| act.deed == Deed::Sell)
    }

    /// Strings and hashes that a call deleted.
    pub fn deleted(&self) -> BTreeSet<(Template, Kind)> {
        let gone = answered(&self.runs).flat_map(|run| {
            let cells = run.before.cells.keys();
            let gone = cells.filter(|cell| !run.seen.after.has_key(&cell.key));
            gone.map(|cell| (run.template(&cell.key), cell.kind))
        });
        gone.filter(|(_, kind)| matches!(kind, Kind::Text | Kind::Hash)).collect()
    }

    /// What the call did in the state where it did most: changes go before all that it only asked.
    pub fn best(&self) -> Option<&Run> {
        let most = |run: &&Run| (!run.changes().is_empty(), run.seen.calls.len());
        self.runs.iter().rev().max_by_key(most)
    }
}

fn answered(runs: &[Run]) -> impl Iterator<Item = &Run> {
    runs.iter().filter(|run| !run.seen.reply.refuses())
}

/// How the values of unknown arguments follow each other: a script may compare them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Marks {
    Rising,
    Falling,
    /// Numbers below 50, which may be units or seconds.
    Small,
}

/// Values that no text contains by chance, except small ones.
pub fn marks(call: &Call, marks: Marks) -> Values {
    let is_small = marks == Marks::Small;
    let value = |role: Role| match (role, marks) {
        (Role::Voucher, _) => "83911".to_owned(),
        (Role::User, _) => "4100101".to_owned(),
        (Role::Order, _) => "4200202".to_owned(),
        (Role::Units, _) => if is_small { "3" } else { "4300303" }.to_owned(),
        (Role::Token, _) => "4400404".to_owned(),
        (Role::Lock, _) => "lock:4500505".to_owned(),
        (Role::Lease, _) => if is_small { "47" } else { "4600606" }.to_owned(),
        (Role::Request, _) => "4700707".to_owned(),
        (Role::Other(number), Marks::Rising) => (4_800_000 + number * 1_013).to_string(),
        (Role::Other(number), Marks::Falling) => (4_990_000 - number * 1_013).to_string(),
        (Role::Other(number), Marks::Small) => (2 * number + 1).to_string(),
    };
    call.roles().into_iter().map(|role| (role, value(role).into_bytes())).collect()
}

/// Makes calls, in more and more states.
pub fn learn(exam: &mut Examination<'_, '_>) -> Result<Learned> {
    let mut runs = Vec::new();
    for order in [Marks::Rising, Marks::Falling, Marks::Small] {
        let (mut queue, mut tried) = (VecDeque::from([Plants::new()]), BTreeSet::new());
        while let Some(plants) = queue.pop_front() {
            if !tried.insert(plants.clone()) || tried.len() > STATES_MAX {
                continue;
            }
            let run = exam.run(plants, marks(&exam.call, order))?;
            if let Some(sale) = Act::sold(&run).filter(|_| !run.seen.reply.refuses()) {
                return Ok(Learned { acts: vec![sale], runs });
            }
            for call in &run.seen.calls {
                for next in wanted(exam, &run, call)? {
                    let mut plants = [run.plants.clone(), next].concat();
                    plants.sort();
                    queue.push_back(plants);
                }
            }
            runs.push(run);
        }
    }
    let acts = answered(&runs).flat_map(Act::locks).chain(answered(&runs).find_map(Act::returned));
    Ok(Learned { acts: acts.collect(), runs })
}

/// What could be planted for each key or field that a call of the script asked for and that was
/// not there.
fn wanted(exam: &mut Examination<'_, '_>, run: &Run, call: &Called) -> Result<Vec<Plants>> {
    let (before, texts) = (&run.before, &exam.lua.texts);
    let texts = texts.iter().map(|text| text.clone().into_bytes());
    let categories = exam.bench.plain.categories(&call.name)?;
    let is = |name: &str| categories.iter().any(|own| own == name);
    let mut all: Vec<Plants> = Vec::new();
    for access in &call.keys {
        let key = access.key.clone();
        let cell = |kind, item: &[u8]| Cell { key: key.clone(), kind, item: item.to_vec() };
        if is("@hash") {
            let fields: Words = match call.name.as_str() {
                "HGETALL" | "HVALS" | "HKEYS" | "HLEN" => texts.clone().collect(),
                _ => call.words.iter().skip(2).cloned().collect(),
            };
            let cells = fields.iter().map(|field| cell(Kind::Hash, field));
            let absent = cells.filter(|cell| !before.cells.contains_key(cell)).take(8);
            let absent: Vec<Cell> = absent.collect();
            for value in [PLENTY, "1"].into_iter().filter(|_| !absent.is_empty()) {
                all.push(absent.iter().map(|cell| (cell.clone(), value.into())).collect());
            }
        } else if before.has_key(&key)
            || ["@sortedset", "@list", "@stream"].iter().any(|own| is(own))
        {
            // Nothing is missing, or nothing that is planted.
        } else if is("@set") {
            all.push(vec![(
                cell(Kind::Set, call.words.get(2).map_or(b"", Vec::as_slice)),
                Vec::new(),
            )]);
        } else {
            let slots = run.slots.iter().map(|(_, value)| value.clone());
            let values = std::iter::once(PLENTY.into()).chain(slots).chain([b"1".to_vec()]);
            let texts = texts.clone().filter(|text| is("@string") && text.len() < 20).take(6);
            all.extend(values.chain(texts).map(|value| vec![(cell(Kind::Text, b""), value)]));
        }
    }
    Ok(all)
}

/// Whether a call failed by a fault of the script's text, whatever its arguments and keys are.
pub fn is_fault(reply: &Reply) -> bool {
    const FAULTS: [&str; 4] = [
        "nonexistent global variable", "attempt to call", "nknown Redis command",
        "rong number of arg",
    ];
    let text = reply.text();
    // Valkey has it.
    let is_known = text.contains("variable 'server'");
    reply.is_error() && !is_known && FAULTS.iter().any(|words| text.contains(words))
}
