//! What one run did: took units, put some back, or changed a lock.

use std::collections::BTreeSet;

use domain::fields::check_order_fields;
use itertools::Itertools;

use super::{Lock, LockDeed, Orders, Return, Run, Sale};
use crate::bench::Called;
use crate::call::Slot;
use crate::keyspace::{Cell, Kind, planted};
use crate::template::Template;

/// More units than a call takes that is not told how many.
const UNITS_MAX: i64 = 1000;

/// The argument that a change of a number equals, or the number itself.
fn amount(change: i64, slots: &[(Slot, Vec<u8>)]) -> Result<Slot, i64> {
    let text = change.to_string().into_bytes();
    let slot = slots.iter().find(|(_, value)| *value == text);
    slot.map_or(Err(change), |(slot, _)| Ok(*slot))
}

/// The sale that a run was, if it took from one number and reduced no other.
pub(super) fn sale(run: &Run) -> Option<Sale> {
    let Run { slots, before, seen, .. } = run;
    let taken = |cell: &Cell| {
        let numbers = before.number(cell).zip(seen.after.number(cell));
        numbers.and_then(|(before, after)| before.checked_sub(after)).filter(|taken| *taken > 0)
    };
    let changes = run.changes();
    let (stock, by) =
        changes.iter().filter_map(|cell| Some((cell, taken(cell)?))).exactly_one().ok()?;
    let template = |text: &[u8]| Template::of(text, slots);
    let words = |call: &Called| call.words.iter().map(|word| template(word)).collect::<Vec<_>>();
    let units = amount(by, slots);
    if units.is_err_and(|count| count > UNITS_MAX) {
        return None;
    }
    let (mut buyers, mut orders, mut is_taken) = (None, None, false);
    let (mut extras, mut extra_keys) = (Vec::new(), Vec::new());
    for call in seen.calls.iter().filter(|call| call.lasts()) {
        let words = words(call);
        let name = call.name();
        let user = words.get(2).and_then(Template::only);
        match name.as_str() {
            _ if !is_taken && call.gets(&stock.key) => is_taken = true,
            "SADD" if buyers.is_none() && words.len() == 3 && user.is_some() => {
                buyers = Some((words[1].clone(), user?));
            }
            "XADD" if orders.is_none() && order(&words, &buyers).is_some() => {
                orders = order(&words, &buyers);
            }
            _ => {
                extra_keys.extend(call.keys.iter().map(|key| template(&key.key)));
                extras.push(words);
            }
        }
    }
    let needs = run.plants.iter().filter(|(cell, _)| cell != stock);
    Some(Sale {
        stock: template(&stock.key),
        kind: stock.kind,
        item: template(&stock.item),
        units,
        buyers,
        orders,
        extras,
        extra_keys,
        needs: needs.map(|(cell, value)| planted(cell, value)).collect(),
        run: run.clone(),
    })
}

/// The fields of an order, if an entry is that of the module: `XADD stream * name value`, with
/// three values, one of them the user.
fn order(words: &[Template], buyers: &Option<(Template, Slot)>) -> Option<Orders> {
    let (_, user) = buyers.as_ref()?;
    if words.len() != 9 || words[2].constant() != Some(b"*") {
        return None;
    }
    let name = |at: usize| String::from_utf8(words[at].constant()?.to_vec()).ok();
    let fields = [(name(3)?, &words[4]), (name(5)?, &words[6]), (name(7)?, &words[8])];
    let [one, two, three] = &fields;
    check_order_fields([one, two, three].map(|(name, _)| name.as_bytes())).ok()?;
    let at_user = fields.iter().position(|(_, value)| value.only() == Some(*user))?;
    // Which of the two others is the order: a name shows it, else the last one.
    let others: Vec<usize> = (0..3).filter(|at| *at != at_user).collect();
    let names_voucher = |at: &usize| {
        let name = fields[*at].0.to_lowercase();
        ["voucher", "item", "goods", "product", "sku", "coupon", "activity", "event"]
            .iter()
            .any(|word| name.contains(word))
    };
    let at_voucher = others.iter().copied().find(names_voucher).unwrap_or(others[0]);
    let at_order = others.into_iter().find(|at| *at != at_voucher)?;
    let places = [at_user, at_voucher, at_order];
    Some(Orders {
        stream: words[1].clone(),
        names: places.map(|at| fields[at].0.clone()),
        values: places.map(|at| fields[at].1.clone()),
    })
}

/// Whether a run added anything, and whether it took anything away.
pub(super) fn grows(run: &Run) -> (bool, bool) {
    let (before, after) = (&run.before, &run.seen.after);
    let more = |cell: &Cell| match (before.number(cell), after.number(cell)) {
        (Some(old), Some(new)) => new > old,
        _ => !before.cells.contains_key(cell),
    };
    let changes = run.changes();
    let gone = changes.iter().any(|cell| !after.cells.contains_key(cell));
    (changes.iter().any(more), gone)
}

pub(super) fn locks(run: &Run) -> Vec<Lock> {
    let Run { slots, before, seen, .. } = run;
    let template = |text: &[u8]| Template::of(text, slots);
    let words = |call: &Called| call.words.iter().map(|word| template(word)).collect();
    let is_arg = |value: &Vec<u8>| slots.iter().any(|(_, own)| own == value);
    let keys: BTreeSet<&Vec<u8>> =
        before.cells.keys().chain(seen.after.cells.keys()).map(|cell| &cell.key).collect();
    let mut all = Vec::new();
    for key in keys {
        let (old, new) = (before.text(key), seen.after.text(key));
        let ttl = (before.ttl.get(key), seen.after.ttl.get(key));
        let deed = match (old, new) {
            (Some(old), None) if is_arg(old) => LockDeed::Release,
            (Some(old), Some(new)) if old == new && is_arg(old) && ttl.0 != ttl.1 => {
                LockDeed::Renew
            }
            (None, Some(new)) if is_arg(new) && ttl.1.is_some() => LockDeed::Acquire,
            _ => continue,
        };
        let token = old.or(new).map(|token| template(token));
        let lease =
            seen.calls.iter().filter(|call| call.gets(key)).find_map(|call| lease(call, slots));
        let others = seen.calls.iter().filter(|call| call.lasts() && !call.gets(key));
        let extra_keys = others.clone().flat_map(|call| &call.keys);
        if let Some(token) = token {
            all.push(Lock {
                deed,
                lock: template(key),
                token,
                lease,
                extra_keys: extra_keys.map(|key| template(&key.key)).collect(),
                extras: others.map(words).collect(),
            });
        }
    }
    all
}

/// The lease in a call, and whether it is in seconds.
fn lease(call: &Called, slots: &[(Slot, Vec<u8>)]) -> Option<(Template, bool)> {
    let word = |at: usize| call.words.get(at).map(|word| Template::of(word, slots));
    match call.name().as_str() {
        "PEXPIRE" | "PSETEX" => Some((word(2)?, false)),
        "EXPIRE" | "SETEX" => Some((word(2)?, true)),
        "SET" => (3..call.words.len()).find_map(|at| {
            let name = call.words[at].to_ascii_uppercase();
            matches!(name.as_slice(), b"PX" | b"EX")
                .then(|| Some((word(at + 1)?, name == b"EX")))?
        }),
        _ => None,
    }
}

pub(super) fn returns(run: &Run) -> Option<Return> {
    let Run { slots, before, seen, .. } = run;
    let cell = run.changes().into_iter().exactly_one().ok()?;
    let by = seen.after.number(&cell)?.checked_sub(before.number(&cell)?)?;
    let is_one = cell.kind == Kind::Text && by > 0;
    is_one.then(|| Return { stock: Template::of(&cell.key, slots), units: amount(by, slots) })
}
