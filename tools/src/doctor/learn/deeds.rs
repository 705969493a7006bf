//! What one run did: took units, put some back, or changed a lock.

use super::*;

fn act(deed: Deed, cell: &Cell, run: &Run) -> Act {
    let (key, item) = (run.template(&cell.key), run.template(&cell.item));
    let (units, buyers, orders, token, lease) = (Err(1), None, None, None, None);
    let (extras, extra_keys, needs) = (Vec::new(), Vec::new(), Vec::new());
    let (kind, run) = (cell.kind, run.clone());
    Act {
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

/// The argument that a change of a number equals, or the number itself.
fn amount(change: i64, run: &Run) -> Result<Slot, i64> {
    let text = change.to_string().into_bytes();
    let slot = run.slots.iter().find(|(_, value)| *value == text);
    slot.map_or(Err(change), |(slot, _)| Ok(*slot))
}

/// The sale that a run was, if it took from one number and reduced no other.
pub(super) fn sold(run: &Run) -> Option<Act> {
    let changes = run.changes();
    let stock = changes.iter().filter(|cell| run.taken(cell) > 0).exactly_one().ok()?;
    let units = amount(run.taken(stock), run);
    if units.is_err_and(|count| count > UNITS_MAX) {
        return None;
    }
    let needs = run.plants.iter().filter(|(cell, _)| cell != stock);
    let needs = needs.map(|(cell, value)| planted(cell, value)).collect();
    let mut sale = Act { units, needs, ..act(Deed::Sell, stock, run) };
    let mut is_taken = false;
    for call in run.seen.calls.iter().filter(|call| call.lasts()) {
        let words: Vec<Template> = call.words.iter().map(|word| run.template(word)).collect();
        let user = words.get(2).and_then(Template::only);
        match call.name().as_str() {
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
    let others: Vec<usize> = (0..3).filter(|at| *at != at_user).collect();
    let names_voucher = |at: &usize| {
        let name = fields[*at].0.to_lowercase();
        VOUCHERS.split(' ').any(|word| name.contains(word))
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

pub(super) fn locks(run: &Run) -> Vec<Act> {
    let (before, after) = (&run.before, &run.seen.after);
    let is_arg = |value: &Vec<u8>| run.slots.iter().any(|(_, own)| own == value);
    let cells: BTreeSet<&Cell> = before.cells.keys().chain(after.cells.keys()).collect();
    let lock = |cell: &Cell| {
        let key = &cell.key;
        let (old, new) = (before.text(key), after.text(key));
        let ttl = (before.ttl.get(key), after.ttl.get(key));
        let deed = match (old, new) {
            (Some(old), None) if is_arg(old) => Deed::Release,
            (Some(old), Some(new)) if old == new && is_arg(old) && ttl.0 != ttl.1 => Deed::Renew,
            (None, Some(new)) if is_arg(new) && ttl.1.is_some() => Deed::Acquire,
            _ => return None,
        };
        let own = run.seen.calls.iter().filter(|call| call.gets(key));
        let others = run.seen.calls.iter().filter(|call| call.lasts() && !call.gets(key));
        let words = |call: &Called| call.words.iter().map(|word| run.template(word)).collect();
        let extra_keys = others.clone().flat_map(|call| &call.keys);
        Some(Act {
            token: old.or(new).map(|token| run.template(token)),
            lease: own.into_iter().find_map(|call| lease(call, run)),
            extra_keys: extra_keys.map(|key| run.template(&key.key)).collect(),
            extras: others.map(words).collect(),
            ..act(deed, cell, run)
        })
    };
    cells.into_iter().filter(|cell| cell.kind == Kind::Text).filter_map(lock).collect()
}

/// The lease in a call, and whether it is in seconds.
fn lease(call: &Called, run: &Run) -> Option<(Template, bool)> {
    let word = |at: usize| call.words.get(at).map(|word| run.template(word));
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

/// Units that a call has put back.
pub(super) fn returned(run: &Run) -> Option<Act> {
    let cell = run.changes().into_iter().exactly_one().ok()?;
    let by = run.taken(&cell).checked_neg()?;
    let is_one = cell.kind == Kind::Text && by > 0;
    is_one.then(|| Act { units: amount(by, run), ..act(Deed::Return, &cell, run) })
}
