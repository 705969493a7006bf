//! What one run did: took units, put some back, or changed a lock.

use std::collections::BTreeSet;

use domain::fields::check_order_fields;
use itertools::Itertools;

use crate::bench::Called;
use crate::call::{Call, Role};
use crate::examination::{Run, setup};
use crate::keyspace::{Cell, Kind};
use crate::reply::Words;
use crate::template::{Slot, Template};

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
#[derive(Clone)]
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
#[derive(Clone)]
pub struct Orders {
    pub stream: Template,
    pub names: [String; 3],
    pub values: [Template; 3],
}

impl Act {
    fn of(deed: Deed, cell: &Cell, run: &Run) -> Self {
        let (key, item) = (run.template(&cell.key), run.template(&cell.item));
        let (buyers, orders, token, lease) = (None, None, None, None);
        let (extras, extra_keys, needs) = (Vec::new(), Vec::new(), Vec::new());
        let (kind, run, units) = (cell.kind, run.clone(), Err(1));
        Self {
            deed,
            key,
            kind,
            item,
            units,
            buyers,
            orders,
            token,
            lease,
            extras,
            extra_keys,
            needs,
            run,
        }
    }

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
        let order = |at: usize| self.orders.as_ref().and_then(|orders| orders.values[at].only());
        for (slot, role) in [
            (self.buyers.as_ref().map(|(_, user)| *user), Role::User),
            (self.units.ok(), Role::Units),
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
        let units = amount(run.taken(stock), run);
        if units.is_err_and(|count| count > UNITS_MAX) {
            return None;
        }
        let needs = run.plants.iter().filter(|(cell, _)| cell != stock).cloned().collect();
        let mut sale = Self { units, needs: setup(&needs), ..Self::of(Deed::Sell, stock, run) };
        let mut is_taken = false;
        for call in run.seen.calls.iter().filter(|call| call.lasts()) {
            let words = templates(call, run);
            let user = words.get(2).and_then(Template::only);
            match call.name.as_str() {
                _ if !is_taken && call.gets(&stock.key) => is_taken = true,
                "SADD" if sale.buyers.is_none() && words.len() == 3 && user.is_some() => {
                    sale.buyers = Some((words[1].clone(), user?));
                }
                "XADD" if sale.orders.is_none() && order(&words, &sale.buyers).is_some() => {
                    sale.orders = order(&words, &sale.buyers);
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
            let others: Vec<&Called> = others.into_iter().filter(|call| call.lasts()).collect();
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

    /// Units that a run has put back.
    pub fn returned(run: &Run) -> Option<Self> {
        let cell = run.changes().into_iter().exactly_one().ok()?;
        let by = run.taken(&cell).checked_neg()?;
        let is_one = cell.kind == Kind::Text && by > 0;
        is_one.then(|| Self { units: amount(by, run), ..Self::of(Deed::Return, &cell, run) })
    }
}

fn templates(call: &Called, run: &Run) -> Vec<Template> {
    call.words.iter().map(|word| run.template(word)).collect()
}

/// The argument that a change of a number equals, or the number itself.
fn amount(change: i64, run: &Run) -> Result<Slot, i64> {
    let text = change.to_string().into_bytes();
    let slot = run.slots.iter().find(|(_, value)| *value == text);
    slot.map_or(Err(change), |(slot, _)| Ok(*slot))
}

/// The fields of an order, if an entry is that of the module: `XADD stream * name value`, with
/// three values, one of them the user.
fn order(words: &[Template], buyers: &Option<(Template, Slot)>) -> Option<Orders> {
    const VOUCHERS: &str = "voucher item goods product sku coupon activity event";
    let (_, user) = buyers.as_ref()?;
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
