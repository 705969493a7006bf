//! Finds a state of keys in which a call does something: where the script reads a key that is not
//! there, the next run has one. What it then does, see `deeds`, shows which argument is what.

mod deeds;

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;
use domain::fields::check_order_fields;
use itertools::Itertools;

use crate::bench::{Called, Seen};
use crate::call::{Call, Role, Slot, Values};
use crate::keyspace::{Cell, Kind, planted};
use crate::reply::Reply;
use crate::template::Template;
use crate::trial::{Plants, Run, Trial};
use crate::wire::Words;

/// A stock that no mark exceeds, so that any argument can be the units.
pub const PLENTY: &str = "900000000000";

/// How many states are tried.
const STATES_MAX: usize = 90;

/// More units than a call takes that is not told how many.
const UNITS_MAX: i64 = 1000;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Sell,
    Return,
    Acquire,
    Renew,
    Release,
}

/// What a call did to a stock or a lock.
#[derive(Clone, Debug)]
pub struct Act {
    pub deed: Deed,
    /// The stock or the lock, and where in its key it is.
    pub key: Template,
    pub kind: Kind,
    pub item: Template,
    /// The argument that says how many units, or how many there always are.
    pub units: Result<Slot, i64>,
    pub buyers: Option<(Template, Slot)>,
    pub orders: Option<Orders>,
    pub token: Option<Template>,
    /// The lease as the script passes it, and whether that is in seconds.
    pub lease: Option<(Template, bool)>,
    /// Its other writes and messages, word by word, and their keys.
    pub extras: Vec<Vec<Template>>,
    pub extra_keys: Vec<Template>,
    /// Keys that must be there for it to sell, beside the stock.
    pub needs: Vec<Words>,
    pub run: Run,
}

/// An entry of a stream: the names of the fields for user, voucher and order, and their values.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Orders {
    pub stream: Template,
    pub names: [String; 3],
    pub values: [Template; 3],
}

impl Act {
    /// Its keys, that of the stock or the lock first.
    pub fn keys(&self) -> impl Iterator<Item = &Template> {
        let stream = self.orders.iter().map(|orders| &orders.stream);
        let buyers = self.buyers.iter().map(|(buyers, _)| buyers);
        std::iter::once(&self.key).chain(buyers).chain(stream).chain(&self.extra_keys)
    }

    pub fn is_of_stock(&self) -> bool {
        matches!(self.deed, Deed::Sell | Deed::Return)
    }

    /// Gives the arguments whose meaning the call showed their roles.
    pub fn teach(&self, call: &mut Call) {
        let lease = self.lease.as_ref().and_then(|(lease, _)| lease.only());
        let orders = self.orders.as_ref().map(|orders| &orders.values);
        let order = |at: usize| orders.and_then(|values| values[at].only());
        for (slot, role) in [
            (self.buyers.as_ref().map(|(_, user)| *user), Role::User),
            (self.units.ok(), Role::Units),
            (order(1), Role::Voucher),
            (order(2), Role::Order),
            (self.token.as_ref().and_then(Template::only), Role::Token),
            (lease, Role::Lease),
        ] {
            call.learn(slot, role);
        }
        let names = self.key.places().filter(|slot| matches!(slot, Slot::Arg(_)));
        if self.deed == Deed::Sell {
            names.for_each(|slot| call.learn(Some(slot), Role::Voucher));
        }
    }
}

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

    fn answered(&self) -> impl Iterator<Item = &Run> {
        self.runs.iter().filter(|run| !run.seen.reply.refuses())
    }

    /// Strings and hashes that a call deleted.
    pub fn deleted(&self) -> BTreeSet<(Template, Kind)> {
        let gone = self.answered().flat_map(|run| {
            let cells = run.before.cells.keys();
            let gone = cells.filter(|cell| !run.seen.after.has_key(&cell.key));
            gone.map(|cell| (run.template(&cell.key), cell.kind))
        });
        gone.filter(|(_, kind)| matches!(kind, Kind::Text | Kind::Hash)).collect()
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
    let is_small = marks == Marks::Small;
    let value = |role: Role| match role {
        Role::Voucher => "83911".to_owned(),
        Role::User => "4100101".to_owned(),
        Role::Order => "4200202".to_owned(),
        Role::Units if is_small => "3".to_owned(),
        Role::Units => "4300303".to_owned(),
        Role::Token => "4400404".to_owned(),
        Role::Lock => "lock:4500505".to_owned(),
        Role::Lease if is_small => "47".to_owned(),
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

/// Makes calls, in more and more states.
pub fn learn(trial: &mut Trial<'_, '_>) -> Result<Learned> {
    let mut runs = Vec::new();
    for order in [Marks::Rising, Marks::Falling, Marks::Small] {
        if let Some(sale) = learn_with(trial, &marks(&trial.call, order), &mut runs)? {
            return Ok(Learned { acts: vec![sale], runs });
        }
    }
    let answered = || runs.iter().filter(|run| !run.seen.reply.refuses());
    let acts = answered().flat_map(deeds::locks).chain(answered().find_map(deeds::returned));
    Ok(Learned { acts: acts.collect(), runs })
}

fn learn_with(
    trial: &mut Trial<'_, '_>,
    values: &Values,
    runs: &mut Vec<Run>,
) -> Result<Option<Act>> {
    let mut queue = VecDeque::from([Plants::new()]);
    let mut tried = BTreeSet::new();
    while let Some(plants) = queue.pop_front() {
        if !tried.insert(plants.clone()) || tried.len() > STATES_MAX {
            continue;
        }
        trial.bench.plain.clear()?;
        let setup: Vec<Words> = plants.iter().map(|(cell, value)| planted(cell, value)).collect();
        trial.bench.plain.send(&setup)?;
        let before = trial.bench.plain.keys()?;
        let run = trial.run(plants, values.clone(), before)?;
        if let Some(sale) = deeds::sold(&run).filter(|_| !run.seen.reply.refuses()) {
            return Ok(Some(sale));
        }
        for next in wanted(trial, &run)? {
            let mut plants = [run.plants.clone(), next].concat();
            plants.sort();
            queue.push_back(plants);
        }
        runs.push(run);
    }
    Ok(None)
}

/// What could be planted for each key or field that the run asked for and that was not there.
fn wanted(trial: &mut Trial<'_, '_>, run: &Run) -> Result<Vec<Plants>> {
    let (before, texts) = (&run.before, &trial.script.lua.texts);
    let mut all = Vec::new();
    for call in &run.seen.calls {
        let categories = trial.bench.plain.categories(&call.name())?;
        let is = |name: &str| categories.iter().any(|own| own == name);
        for access in &call.keys {
            let key = access.key.clone();
            let cell = |kind, item: &[u8]| Cell { key: key.clone(), kind, item: item.to_vec() };
            let missing = !before.has_key(&key);
            if is("@hash") {
                let fields: Words = match call.name().as_str() {
                    "HGETALL" | "HVALS" | "HKEYS" | "HLEN" => {
                        texts.iter().map(|text| text.clone().into_bytes()).collect()
                    }
                    _ => call.words.iter().skip(2).cloned().collect(),
                };
                let cells = fields.iter().map(|field| cell(Kind::Hash, field));
                let absent = cells.filter(|cell| !before.cells.contains_key(cell)).take(8);
                let absent: Vec<Cell> = absent.collect();
                for value in [PLENTY, "1"].into_iter().filter(|_| !absent.is_empty()) {
                    all.push(absent.iter().map(|cell| (cell.clone(), value.into())).collect());
                }
            } else if missing && is("@set") && !is("@sortedset") {
                let member = call.words.get(2).cloned().unwrap_or_default();
                all.push(vec![(cell(Kind::Set, &member), Vec::new())]);
            } else if missing && !is("@sortedset") && !is("@list") && !is("@stream") {
                let mut values: Vec<Vec<u8>> = vec![PLENTY.into()];
                values.extend(run.slots.iter().map(|(_, value)| value.clone()));
                values.push(b"1".to_vec());
                let texts = texts.iter().filter(|text| is("@string") && text.len() < 20).take(6);
                values.extend(texts.map(|text| text.clone().into_bytes()));
                all.extend(values.into_iter().map(|value| vec![(cell(Kind::Text, b""), value)]));
            }
        }
    }
    Ok(all)
}

/// A call that failed before it wrote anything, though there was what it looked for: by its own
/// doing, or since it read a string as something else.
pub fn stopped<'l>(trial: &mut Trial<'_, '_>, learned: &'l Learned) -> Result<Option<&'l Run>> {
    let mut stops = |seen: &Seen| -> Result<bool> {
        if !seen.reply.text().starts_with("WRONGTYPE") {
            return Ok(seen.reply.is_error());
        }
        for call in &seen.calls {
            if trial.bench.plain.is(&call.name(), "@string")? {
                return Ok(true);
            }
        }
        Ok(false)
    };
    for run in learned.runs.iter().filter(|run| !run.plants.is_empty()) {
        if run.seen.reply.refuses() && run.changes().is_empty() && stops(&run.seen)? {
            return Ok(Some(run));
        }
    }
    Ok(None)
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
