//! Finds a state of keys in which a call does something: where the script reads a key that is not
//! there, the next run has one. What it then does shows which argument is what.

mod deeds;

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;

use crate::bench::{Called, Seen};
use crate::call::{Call, Role, Slot, Values, Word};
use crate::examine::Examination;
use crate::keyspace::{Cell, Keyspace, Kind, planted};
use crate::reply::Reply;
use crate::template::{Part, Pattern, Template};
use crate::wire::Words;

/// A stock that no mark exceeds, so that any argument can be the units.
pub const PLENTY: &str = "900000000000";

/// How many states are tried.
const STATES_MAX: usize = 90;

/// A stock from which a call has taken.
#[derive(Clone, Debug)]
pub struct Sale {
    pub stock: Template,
    pub kind: Kind,
    pub item: Template,
    /// The argument that says how many units, or how many there always are.
    pub units: Result<Slot, i64>,
    pub buyers: Option<(Template, Slot)>,
    pub orders: Option<Orders>,
    /// Its other writes, word by word.
    pub extras: Vec<Vec<Template>>,
    pub extra_keys: Vec<Template>,
    /// Keys that must be there for it to sell, beside the stock.
    pub needs: Vec<Words>,
    pub run: Run,
}

impl Sale {
    /// Its keys, the stock first.
    pub fn keys(&self) -> impl Iterator<Item = &Template> {
        let stream = self.orders.iter().map(|orders| &orders.stream);
        let buyers = self.buyers.iter().map(|(buyers, _)| buyers);
        std::iter::once(&self.stock).chain(buyers).chain(stream).chain(&self.extra_keys)
    }
}

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

impl Run {
    /// The commands that make the state.
    pub fn setup(&self) -> Vec<Words> {
        setup(&self.plants)
    }

    pub fn changes(&self) -> Vec<Cell> {
        self.before.changes(&self.seen.after)
    }

    /// By how much a number grew: one that is not there is 0.
    pub fn grew(&self, cell: &Cell) -> i64 {
        let number = |keys: &Keyspace| match keys.cells.contains_key(cell) {
            true => keys.number(cell),
            false => Some(0),
        };
        let numbers = number(&self.seen.after).zip(number(&self.before));
        numbers.map_or(0, |(new, old)| new.wrapping_sub(old))
    }

    /// The keys that changed, but for one cell: their kinds, and the caller's words in them.
    pub fn shape(&self, but: &Cell) -> BTreeSet<(Template, Kind)> {
        let others = self.changes().into_iter().filter(|cell| cell != but);
        others.map(|cell| (Template::of(&cell.key, &self.slots), cell.kind)).collect()
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

fn setup(plants: &Plants) -> Vec<Words> {
    plants.iter().map(|(cell, value)| planted(cell, value)).collect()
}

/// An entry of a stream: the names of the fields for user, voucher and order, and their values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orders {
    pub stream: Template,
    pub names: [String; 3],
    pub values: [Template; 3],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LockDeed {
    Acquire,
    Renew,
    Release,
}

#[derive(Clone, Debug)]
pub struct Lock {
    pub deed: LockDeed,
    pub lock: Template,
    pub token: Template,
    /// The lease as the script passes it, and whether that is in seconds.
    pub lease: Option<(Template, bool)>,
    /// What else the call wrote or published, word by word, and its keys.
    pub extras: Vec<Vec<Template>>,
    pub extra_keys: Vec<Template>,
}

/// Units that a call has put back.
#[derive(Clone, Debug)]
pub struct Return {
    pub stock: Template,
    pub units: Result<Slot, i64>,
}

pub struct Learned {
    pub sale: Option<Sale>,
    /// All calls, those in the smallest states first.
    pub runs: Vec<Run>,
}

impl Learned {
    /// Whether no call did what a command does.
    pub fn is_empty(&self) -> bool {
        self.sale.is_none() && self.returns().is_none() && self.locks().is_empty()
    }

    fn answered(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.seen.reply.refuses())
    }

    pub fn locks(&self) -> Vec<Lock> {
        self.answered().flat_map(deeds::locks).collect()
    }

    pub fn returns(&self) -> Option<Return> {
        self.answered().find_map(deeds::returns)
    }

    /// Strings and hashes that a call deleted.
    pub fn deleted(&self) -> BTreeSet<(Template, Kind)> {
        let gone = self.answered().flat_map(|run| {
            let cells = run.before.cells.keys();
            let gone = cells.filter(|cell| !run.seen.after.has_key(&cell.key));
            gone.map(|cell| (Template::of(&cell.key, &run.slots), cell.kind))
        });
        gone.filter(|(_, kind)| matches!(kind, Kind::Text | Kind::Hash)).collect()
    }

    /// Calls that added something, and took something else away or nothing.
    pub fn grown(&self, and_took: bool) -> impl Iterator<Item = &Run> {
        self.answered().filter(move |run| deeds::grows(run) == (true, and_took)).take(4)
    }

    /// Whether every call failed by a fault of the script that no argument or key avoids.
    pub fn always_fails(&self) -> bool {
        self.runs.iter().all(|run| run.changes().is_empty() && is_fault(&run.seen.reply))
    }

    /// A call that wrote and then failed, in the smallest state.
    pub fn failed(&self) -> Option<&Run> {
        self.runs.iter().find(|run| run.seen.reply.refuses() && !run.changes().is_empty())
    }

    /// What the call did in the state where it did most.
    pub fn best(&self) -> Option<&Run> {
        let changed = self.runs.iter().rev().filter(|run| !run.changes().is_empty());
        changed.max_by_key(|run| run.seen.calls.len())
    }
}

/// How the values of unknown arguments follow each other: a script may compare them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Marks {
    Rising,
    Falling,
    /// Numbers below 50, which may be units or seconds.
    Small,
}

/// Values that no text contains by chance, except small ones.
pub fn marks(call: &Call, marks: Marks) -> Values {
    let value = |role: Role| match role {
        Role::Voucher => "83911".to_owned(),
        Role::User => "4100101".to_owned(),
        Role::Order => "4200202".to_owned(),
        Role::Units => "4300303".to_owned(),
        Role::Token => "4400404".to_owned(),
        Role::Lock => "lock:4500505".to_owned(),
        Role::Lease => "4600606".to_owned(),
        Role::Request => "4700707".to_owned(),
        Role::Other(number) => {
            let step = i64::from(number) * 1_013;
            let value = match marks {
                Marks::Rising => 4_800_000 + step,
                Marks::Falling => 4_990_000 - step,
                Marks::Small => 2 * i64::from(number) + 1,
            };
            value.to_string()
        }
    };
    call.roles().into_iter().map(|role| (role, value(role).into_bytes())).collect()
}

pub type Plants = Vec<(Cell, Vec<u8>)>;

impl Examination<'_, '_, '_> {
    /// Makes calls, in more and more states.
    pub fn learn(&mut self) -> Result<Learned> {
        let mut runs = Vec::new();
        for order in [Marks::Rising, Marks::Falling, Marks::Small] {
            if let Some(mut sale) = self.learn_with(&marks(&self.call, order), &mut runs)? {
                self.learn_numbers(&mut sale)?;
                return Ok(Learned { sale: Some(sale), runs });
            }
        }
        Ok(Learned { sale: None, runs })
    }

    /// Which arguments the script makes a number of before it writes them: 1e2 is 100 then.
    fn learn_numbers(&mut self, sale: &mut Sale) -> Result<()> {
        let written = sale.extras.iter().flatten();
        let slots: BTreeSet<Slot> = written.filter_map(Template::only).collect();
        for slot in slots {
            let Some(role) = self.call.word(slot).and_then(Word::only) else { continue };
            let mut values = sale.run.values.clone();
            values.insert(role, b"1e2".to_vec());
            self.bench.plain.clear()?;
            self.bench.plain.send(&sale.run.setup())?;
            let seen = self.bench.plain.run(&self.entry.words(&self.call, &values))?;
            for words in &mut sale.extras {
                let is_number = |at: usize| {
                    let same = |call: &&Called| {
                        call.words.len() == words.len()
                            && words[0].constant() == call.words.first().map(Vec::as_slice)
                    };
                    seen.calls.iter().find(same).is_some_and(|call| call.words[at] == b"100")
                };
                let own = words.iter().enumerate().filter(|(_, word)| word.only() == Some(slot));
                let own: Vec<usize> = own.map(|(at, _)| at).filter(|at| is_number(*at)).collect();
                own.into_iter().for_each(|at| words[at] = Pattern(vec![Part::Number(slot)]));
            }
        }
        Ok(())
    }

    fn learn_with(&mut self, values: &Values, runs: &mut Vec<Run>) -> Result<Option<Sale>> {
        let mut queue = VecDeque::from([Plants::new()]);
        let mut tried = BTreeSet::new();
        while let Some(plants) = queue.pop_front() {
            if !tried.insert(plants.clone()) || tried.len() > STATES_MAX {
                continue;
            }
            self.bench.plain.clear()?;
            self.bench.plain.send(&setup(&plants))?;
            let before = self.bench.plain.keys()?;
            let run = self.called(plants, values.clone(), before)?;
            if let Some(sale) = deeds::sale(&run).filter(|_| !run.seen.reply.refuses()) {
                return Ok(Some(sale));
            }
            for next in self.wanted(&run)? {
                let mut plants = [run.plants.clone(), next].concat();
                plants.sort();
                queue.push_back(plants);
            }
            runs.push(run);
        }
        Ok(None)
    }

    /// Calls the script.
    pub fn called(&mut self, plants: Plants, values: Values, before: Keyspace) -> Result<Run> {
        let seen = self.bench.plain.run(&self.entry.words(&self.call, &values))?;
        Ok(Run { plants, slots: self.call.values(&values), values, before, seen })
    }

    /// A call that failed before it wrote anything, though there was what it looked for.
    pub fn stopped<'l>(&mut self, learned: &'l Learned) -> Result<Option<&'l Run>> {
        for run in learned.runs.iter().filter(|run| !run.plants.is_empty()) {
            if run.seen.reply.refuses() && run.changes().is_empty() && self.stops(&run.seen)? {
                return Ok(Some(run));
            }
        }
        Ok(None)
    }

    /// Whether a call failed by its own doing: a string was planted for a key of which the script
    /// may want another type, unless it has read it as a string.
    fn stops(&mut self, seen: &Seen) -> Result<bool> {
        if !seen.reply.text().starts_with("WRONGTYPE") {
            return Ok(seen.reply.is_error());
        }
        for call in &seen.calls {
            if self.bench.plain.categories(&call.name())?.iter().any(|kind| kind == "@string") {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What could be planted for each key or field that the run asked for and that was not there.
    fn wanted(&mut self, run: &Run) -> Result<Vec<Plants>> {
        let before = &run.before;
        let mut all = Vec::new();
        for call in &run.seen.calls {
            let categories = self.bench.plain.categories(&call.name())?;
            let is = |name: &str| categories.iter().any(|own| own == name);
            for access in &call.keys {
                let key = access.key.clone();
                let cell = |kind, item: &[u8]| Cell { key: key.clone(), kind, item: item.to_vec() };
                let missing = !before.has_key(&key);
                let mut values: Vec<Vec<u8>> = vec![PLENTY.into()];
                values.extend(run.slots.iter().map(|(_, value)| value.clone()));
                values.push(b"1".to_vec());
                if is("@hash") {
                    let fields: Words = match call.name().as_str() {
                        "HGETALL" | "HVALS" | "HKEYS" | "HLEN" => {
                            self.lua.texts.iter().map(|text| text.clone().into_bytes()).collect()
                        }
                        _ => call.words.iter().skip(2).cloned().collect(),
                    };
                    let absent: Vec<Cell> = fields
                        .iter()
                        .map(|field| cell(Kind::Hash, field))
                        .filter(|cell| !before.cells.contains_key(cell))
                        .take(8)
                        .collect();
                    if !absent.is_empty() {
                        all.push(absent.iter().map(|cell| (cell.clone(), PLENTY.into())).collect());
                        all.push(absent.iter().map(|cell| (cell.clone(), b"1".to_vec())).collect());
                    }
                } else if missing && is("@set") && !is("@sortedset") {
                    let member = call.words.get(2).cloned().unwrap_or_default();
                    all.push(vec![(cell(Kind::Set, &member), Vec::new())]);
                } else if missing && !is("@sortedset") && !is("@list") && !is("@stream") {
                    if is("@string") {
                        let texts = self.lua.texts.iter().filter(|text| text.len() < 20).take(6);
                        values.extend(texts.map(|text| text.clone().into_bytes()));
                    }
                    let plant = |value| vec![(cell(Kind::Text, b""), value)];
                    all.extend(values.into_iter().map(plant));
                }
            }
        }
        Ok(all)
    }
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
