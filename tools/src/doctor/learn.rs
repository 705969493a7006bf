//! Finds a state of keys in which a call does something, such as taking units or releasing a lock:
//! where the script reads a string or a set that is not there, the next run has one. What it then
//! does shows which argument is what.

use std::collections::{BTreeSet, VecDeque};

use anyhow::Result;
use domain::fields::check_order_fields;
use itertools::Itertools;

use crate::call::{Call, Role, Values};
use crate::examination::{Called, Examination, Run, Step};
use crate::reply::{Words, command};
use crate::template::{Slot, Template};

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Deed {
    #[default]
    Sell,
    Acquire,
    Renew,
    Release,
}

/// What a call did to a stock or a lock.
#[derive(Clone, Default)]
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
            slot.into_iter().for_each(|slot| call.learn(slot, role));
        }
        let named = self.key.places().filter(|slot| matches!(slot, Slot::Arg(_)));
        for slot in named.filter(|_| self.deed == Deed::Sell) {
            call.learn(slot, Role::Voucher);
        }
    }

    /// The sale that a run was, if it took from one number and reduced no other.
    pub fn sold(run: &Run) -> Option<Self> {
        let stock = run.before.keys().filter(|key| run.taken(key) > 0).exactly_one().ok()?;
        let taken = run.taken(stock).to_string().into_bytes();
        let told = run.slots.iter().find(|(_, value)| *value == taken);
        if run.reply.refuses() || told.is_none() && taken != b"1" {
            return None;
        }
        let needs = run.step.before.iter().filter(|words| words[1] != *stock).cloned().collect();
        let (key, units) = (run.template(stock), told.map(|(slot, _)| *slot));
        let mut sale = Self { key, units, needs, run: run.clone(), ..Self::default() };
        let mut is_taken = false;
        for call in run.calls.iter().filter(|call| call.writes()) {
            let words = run.templates(&call.words);
            let user = words.get(2).and_then(Template::only);
            match call.name.as_str() {
                _ if !is_taken && call.gets(stock) => is_taken = true,
                "SADD" if sale.buyers.is_none() && words.len() == 3 && user.is_some() => {
                    sale.buyers = Some((words[1].clone(), user?));
                }
                "XADD" if sale.orders.is_none() && order(&words, &sale).is_some() => {
                    sale.orders = order(&words, &sale);
                }
                _ => sale.also_does(call),
            }
        }
        Some(sale)
    }

    /// What a run did to a lock: a string that holds an argument.
    fn locked(run: &Run) -> Option<Self> {
        let mut keys = run.before.keys().chain(run.after.keys());
        keys.find_map(|key| Self::lock(run, key))
    }

    fn lock(run: &Run, key: &[u8]) -> Option<Self> {
        let [(old, had), (new, has)] =
            [&run.before, &run.after].map(|keys| (keys.text(key), keys.ttl(key)));
        let token = old.or(new).filter(|token| run.slots.iter().any(|(_, own)| own == *token))?;
        let deed = match (old, new) {
            (Some(_), None) if !run.after.has_key(key) => Deed::Release,
            (Some(old), Some(new)) if old == new && had != has => Deed::Renew,
            (None, Some(_)) if has.is_some() => Deed::Acquire,
            _ => return None,
        };
        let (own, others): (Vec<_>, Vec<_>) = run.calls.iter().partition(|call| call.gets(key));
        let lease = own.into_iter().find_map(|call| lease(call, run));
        let (key, token, run) = (run.template(key), Some(run.template(token)), run.clone());
        let mut act = Self { deed, key, token, lease, run, ..Self::default() };
        others.into_iter().filter(|call| call.writes()).for_each(|call| act.also_does(call));
        Some(act)
    }

    /// Another write.
    fn also_does(&mut self, call: &Called) {
        self.extra_keys.extend(call.keys.iter().map(|key| self.run.template(&key.key)));
        self.extras.push(self.run.templates(&call.words));
    }
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

/// What was learned: a sale, or else what the first call did that did something to a lock; and all
/// other calls, those in the smallest states first.
pub struct Learned {
    pub act: Option<Act>,
    pub runs: Vec<Run>,
}

impl Learned {
    pub fn sale(&self) -> Option<&Act> {
        self.act.as_ref().filter(|act| act.deed == Deed::Sell)
    }

    /// What the call did in the state where it did most: changes go before all that it only asked.
    pub fn best(&self) -> Option<&Run> {
        let changes = |run: &Run| !run.before.changes(&run.after).is_empty();
        self.runs.iter().rev().max_by_key(|run| (changes(run), run.calls.len()))
    }
}

/// Values that no text contains by chance.
pub fn marks(call: &Call) -> Values {
    let value = |role: Role| match role {
        Role::Voucher => 83_911,
        Role::User => 4_100_101,
        Role::Order => 4_200_202,
        Role::Units => 4_300_303,
        Role::Token => 4_400_404,
        Role::Lock => 4_500_505,
        Role::Lease => 4_600_606,
        Role::Request => 4_700_707,
        Role::Other(Slot::Arg(number)) => 4_800_000 + number * 1_013,
        Role::Other(Slot::Key(number)) => 4_900_000 + number * 1_013,
    };
    call.roles().into_iter().map(|role| (role, value(role).to_string().into_bytes())).collect()
}

/// Makes calls, in more and more states.
pub fn learn(exam: &mut Examination<'_, '_>) -> Result<Learned> {
    let mut runs = Vec::new();
    let (mut queue, mut tried) = (VecDeque::from([Vec::new()]), BTreeSet::new());
    while let Some(before) = queue.pop_front().filter(|_| tried.len() < STATES_MAX) {
        if !tried.insert(before.clone()) {
            continue;
        }
        let run = exam.play(&[Step { before, values: marks(&exam.call) }])?.remove(0);
        if let Some(sale) = Act::sold(&run) {
            return Ok(Learned { act: Some(sale), runs });
        }
        for next in run.calls.iter().flat_map(|call| wanted(&run, call)) {
            let mut before = run.step.before.clone();
            before.push(next);
            before.sort();
            queue.push_back(before);
        }
        runs.push(run);
    }
    let act = runs.iter().filter(|run| !run.reply.refuses()).find_map(Act::locked);
    Ok(Learned { act, runs })
}

/// What could be created for each string or set that a call of the script got and that was not
/// there.
fn wanted(run: &Run, call: &Called) -> Vec<Words> {
    const SETS: [&str; 5] = ["SISMEMBER", "SMISMEMBER", "SADD", "SREM", "SCARD"];
    // Commands of strings, and those of keys of every type.
    const STRINGS: &str = "GET GETDEL GETEX GETSET SET SETNX SETEX PSETEX STRLEN INCR INCRBY DECR \
        DECRBY EXISTS DEL UNLINK TYPE TTL PTTL EXPIRE PEXPIRE EXPIREAT PEXPIREAT PERSIST";
    let missing = call.keys.iter().map(|access| &access.key).filter(|key| !run.before.has_key(key));
    let slots = run.slots.iter().map(|(_, value)| value.as_slice());
    let values = [PLENTY.as_bytes()].into_iter().chain(slots).chain([&b"1"[..]]).collect_vec();
    let member = call.words.get(2).map_or(&b""[..], Vec::as_slice);
    let of = |key: &Vec<u8>| match call.name.as_str() {
        name if SETS.contains(&name) => vec![command([b"SADD", key, member])],
        name if STRINGS.split(' ').any(|own| own == name) => {
            values.iter().map(|value| command([b"SET", key, value])).collect()
        }
        _ => Vec::new(),
    };
    missing.flat_map(of).collect()
}
