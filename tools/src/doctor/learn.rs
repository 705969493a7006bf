//! Finds a state of keys in which a call does something, such as taking units or releasing a lock:
//! where the script reads a string or a set that is not there, the next run has one. What it then
//! does shows which argument is what.

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;
use domain::fields::check_order_fields;
use itertools::Itertools;

use crate::call::{Call, Role, Values};
use crate::examination::{Called, Examination, Plants, Run, setup};
use crate::keyspace::{Cell, Kind};
use crate::reply::{Reply, Words};
use crate::template::{Slot, Template};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Deed {
    Sell,
    Acquire,
    Renew,
    Release,
}

/// What a call did to a stock or a lock.
#[derive(Clone)]
pub struct Act {
    pub deed: Deed,
    /// The string that is the stock or the lock.
    pub key: Template,
    /// The argument that says how many units; else it is one.
    pub units: Option<Slot>,
    pub buyers: Option<(Template, Slot)>,
    pub orders: Option<Orders>,
    pub token: Option<Template>,
    /// The lease as the script passes it, and whether that is in seconds.
    pub lease: Option<(Template, bool)>,
    /// Its other writes, word by word, and their keys.
    pub extras: Vec<Vec<Template>>,
    pub extra_keys: Vec<Template>,
    /// Keys that must be there for it to sell, beside the stock.
    pub needs: Vec<Words>,
    pub run: Run,
}

/// An entry of a stream: the names of the fields for user, voucher and order, and their values.
#[derive(Clone)]
pub struct Orders {
    pub stream: Template,
    pub names: [String; 3],
    pub values: [Template; 3],
}

impl Act {
    fn of(deed: Deed, cell: &Cell, run: &Run) -> Self {
        Self {
            deed,
            key: run.template(&cell.key),
            units: None,
            buyers: None,
            orders: None,
            token: None,
            lease: None,
            extras: Vec::new(),
            extra_keys: Vec::new(),
            needs: Vec::new(),
            run: run.clone(),
        }
    }

    /// Its keys, that of the stock or the lock first.
    pub fn keys(&self) -> impl Iterator<Item = &Template> {
        let stream = self.orders.iter().map(|orders| &orders.stream);
        let buyers = self.buyers.iter().map(|(buyers, _)| buyers);
        std::iter::once(&self.key).chain(buyers).chain(stream).chain(&self.extra_keys)
    }

    /// Gives the arguments whose meaning the call showed their roles.
    pub fn teach(&self, call: &mut Call) {
        let order = |at: usize| self.orders.as_ref().and_then(|orders| orders.values[at].only());
        for (slot, role) in [
            (self.buyers.as_ref().map(|(_, user)| *user), Role::User),
            (self.units, Role::Units),
            (order(1), Role::Voucher),
            (order(2), Role::Order),
            (self.token.as_ref().and_then(Template::only), Role::Token),
            (self.lease.as_ref().and_then(|(lease, _)| lease.only()), Role::Lease),
        ] {
            call.learn(slot, role);
        }
        for slot in self.key.places().filter(|slot| matches!(slot, Slot::Arg(_))) {
            call.learn(Some(slot).filter(|_| self.deed == Deed::Sell), Role::Voucher);
        }
    }

    /// The sale that a run was, if it took from one number and reduced no other.
    pub fn sold(run: &Run) -> Option<Self> {
        let changes = run.changes();
        let stock = changes.iter().filter(|cell| run.taken(cell) > 0).exactly_one().ok()?;
        let taken = run.taken(stock).to_string().into_bytes();
        let told = run.slots.iter().find(|(_, value)| *value == taken);
        if stock.kind != Kind::Text || told.is_none() && taken != b"1" {
            return None;
        }
        let units = told.map(|(slot, _)| *slot);
        let needs = run.plants.iter().filter(|(cell, _)| cell != stock).cloned().collect();
        let mut sale = Self { units, needs: setup(&needs), ..Self::of(Deed::Sell, stock, run) };
        let mut is_taken = false;
        for call in run.seen.calls.iter().filter(|call| call.writes()) {
            let words = templates(call, run);
            let user = words.get(2).and_then(Template::only);
            match call.name.as_str() {
                _ if !is_taken && call.gets(&stock.key) => is_taken = true,
                "SADD" if sale.buyers.is_none() && words.len() == 3 && user.is_some() => {
                    sale.buyers = Some((words[1].clone(), user?));
                }
                "XADD" if sale.orders.is_none() && order(&words, &sale).is_some() => {
                    sale.orders = order(&words, &sale);
                }
                _ => {
                    sale.extra_keys.extend(call.keys.iter().map(|key| run.template(&key.key)));
                    sale.extras.push(words);
                }
            }
        }
        Some(sale)
    }

    /// What a run did to locks: strings that hold an argument.
    pub fn locks(run: &Run) -> Vec<Self> {
        let (before, after) = (&run.before, &run.seen.after);
        let is_arg = |value: &Vec<u8>| run.slots.iter().any(|(_, own)| own == value);
        let cells: BTreeSet<&Cell> = before.cells.keys().chain(after.cells.keys()).collect();
        let lock = |cell: &Cell| {
            let key = &cell.key;
            let (old, new) = (before.text(key), after.text(key));
            let (had, has) = (before.ttl.get(key), after.ttl.get(key));
            let deed = match (old, new) {
                (Some(old), None) if is_arg(old) => Deed::Release,
                (Some(old), Some(new)) if old == new && is_arg(old) && had != has => Deed::Renew,
                (None, Some(new)) if is_arg(new) && has.is_some() => Deed::Acquire,
                _ => return None,
            };
            let (own, others): (Vec<_>, Vec<_>) =
                run.seen.calls.iter().partition(|call| call.gets(key));
            let others: Vec<&Called> = others.into_iter().filter(|call| call.writes()).collect();
            let extra_keys = others.iter().flat_map(|call| &call.keys);
            Some(Self {
                token: old.or(new).map(|token| run.template(token)),
                lease: own.into_iter().find_map(|call| lease(call, run)),
                extra_keys: extra_keys.map(|key| run.template(&key.key)).collect(),
                extras: others.iter().map(|call| templates(call, run)).collect(),
                ..Self::of(deed, cell, run)
            })
        };
        cells.into_iter().filter(|cell| cell.kind == Kind::Text).filter_map(lock).collect()
    }
}

fn templates(call: &Called, run: &Run) -> Vec<Template> {
    call.words.iter().map(|word| run.template(word)).collect()
}

/// The fields of an order, if an entry is that of the module: `XADD stream * name value`, with
/// three values, one of them the user.
fn order(words: &[Template], sale: &Act) -> Option<Orders> {
    const VOUCHERS: &str = "voucher item goods product sku coupon activity event";
    let (_, user) = sale.buyers.as_ref()?;
    if words.len() != 9 || words[2].constant() != Some(b"*") {
        return None;
    }
    let name = |at: usize| String::from_utf8(words[at].constant()?.to_vec()).ok();
    let fields = [(name(3)?, &words[4]), (name(5)?, &words[6]), (name(7)?, &words[8])];
    check_order_fields(fields.each_ref().map(|(name, _)| name.as_bytes())).ok()?;
    let at_user = fields.iter().position(|(_, value)| value.only() == Some(*user))?;
    // Which of the two others is the order: a name shows it, else the last one.
    let (one, other) = (0..3).filter(|at| *at != at_user).collect_tuple()?;
    let names_voucher = |at: usize| {
        let name = fields[at].0.to_lowercase();
        VOUCHERS.split(' ').any(|word| name.contains(word))
    };
    let is_turned = !names_voucher(one) && names_voucher(other);
    let places = if is_turned { [at_user, other, one] } else { [at_user, one, other] };
    Some(Orders {
        stream: words[1].clone(),
        names: places.map(|at| fields[at].0.clone()),
        values: places.map(|at| fields[at].1.clone()),
    })
}

/// The lease in a call, and whether it is in seconds.
fn lease(call: &Called, run: &Run) -> Option<(Template, bool)> {
    let word = |at: usize| call.words.get(at).map(|word| run.template(word));
    match call.name.as_str() {
        "PEXPIRE" | "PSETEX" => Some((word(2)?, false)),
        "EXPIRE" | "SETEX" => Some((word(2)?, true)),
        "SET" => {
            let unit = |word: &Vec<u8>| [&b"PX"[..], b"EX"].contains(&&*word.to_ascii_uppercase());
            let at = 3 + call.words.get(3..)?.iter().position(unit)?;
            Some((word(at + 1)?, call.words[at].eq_ignore_ascii_case(b"EX")))
        }
        _ => None,
    }
}

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

    /// Strings that a call deleted.
    pub fn deleted(&self) -> BTreeSet<Template> {
        let gone = answered(&self.runs).flat_map(|run| {
            let texts = run.before.cells.keys().filter(|cell| cell.kind == Kind::Text);
            let gone = texts.filter(|cell| !run.seen.after.has_key(&cell.key));
            gone.map(|cell| run.template(&cell.key))
        });
        gone.collect()
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
    Ok(Learned { acts: answered(&runs).flat_map(Act::locks).collect(), runs })
}

/// What could be planted for each string or set that a call of the script asked for and that was
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
        if before.has_key(&key)
            || ["@hash", "@sortedset", "@list", "@stream"].iter().any(|own| is(own))
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
        "nonexistent global variable", "attempt to call field '", "nknown Redis command",
        "rong number of arg",
    ];
    let text = reply.text();
    // Valkey has one, newer servers have the other.
    let is_known = text.contains("variable 'server'") || text.contains("variable 'os'");
    // The caller names it.
    let is_told = text.contains("field '?'");
    reply.is_error() && !is_known && !is_told && FAULTS.iter().any(|words| text.contains(words))
}
