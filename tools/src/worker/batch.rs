//! What a batch of entries does to the rows: planned from the rows as they are, before anything is
//! written. Pure.

use std::collections::{BTreeMap, HashMap};

use domain::book::State;
use domain::order_events::{Order, OrderKey, Reason, Release};
use domain::seen_entries::SeenEntries;

/// An entry that is to become part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// With whether the voucher sells to a user once.
    Order(Order, Sole),
    Release(Release),
}

/// Whether the database is to see to it that the user has no other live order of the voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sole {
    Yes,
    No,
}

impl Event {
    pub fn key(&self) -> &OrderKey {
        match self {
            Self::Order(order, _) => &order.key,
            Self::Release(release) => &release.key,
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub key: OrderKey,
    pub user: String,
    pub units: i64,
    pub state: State,
    pub deadline_ms: Option<i64>,
    /// Whether the unique index sees the row.
    pub sole: Sole,
    pub seen: SeenEntries,
}

impl Row {
    fn live_units(&self) -> i64 {
        if self.state.is_live() { self.units } else { 0 }
    }

    /// Not an order, but the note that it was given back before it was seen.
    fn is_tombstone(&self) -> bool {
        self.seen.last_order().is_none()
    }
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order is in a row now.
    Inserted,
    /// The order's row has seen it before.
    Repeated,
    /// The row is given back, or there is none that it means.
    Released,
    Failed(Why),
}

/// What is wrong with the data of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// The id is that of another user's order.
    OtherUser,
    /// The user has another live order, of this id, and may have one.
    HasOther(String),
    /// The database says so.
    Refused(String),
}

/// A user of a voucher, and the live order by which the unique index knows them.
pub type Holders = HashMap<(String, String), String>;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rows that are new.
    pub inserts: Vec<Row>,
    /// Rows that are live no more. To be written first: their users may buy again.
    pub releases: Vec<Row>,
    /// Rows that are there, and are live.
    pub updates: Vec<Row>,
    /// By how much the units sold of vouchers change.
    pub sales: BTreeMap<String, i64>,
    /// Of each event.
    pub outcomes: Vec<Outcome>,
}

/// The units sold of a voucher would be beyond all bounds.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

/// A row in the making.
struct Draft<'e> {
    before: Option<&'e Row>,
    row: Row,
    /// The events in it, by number.
    events: Vec<usize>,
    is_changed: bool,
}

/// Plans what `events` do to the rows there are. `holders` may name users that the unique index
/// knows; a conflict with one that is not named is found by the database.
pub fn plan(
    events: &[Event],
    rows: &HashMap<OrderKey, Row>,
    holders: &Holders,
) -> Result<Plan, TooMany> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; events.len()];
    loop {
        let (drafts, found) = draft(events, rows, &outcomes);
        let conflicts = conflicts(&drafts, holders);
        if conflicts.is_empty() {
            let found = found.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Released));
            return finish(drafts, found.collect());
        }
        for (number, why) in conflicts {
            outcomes[number] = Some(Outcome::Failed(why));
        }
    }
}

/// Applies the events that have not failed: the orders first, so that a release finds the row of
/// an order that came with it.
fn draft<'e>(
    events: &'e [Event],
    rows: &'e HashMap<OrderKey, Row>,
    failed: &[Option<Outcome>],
) -> (BTreeMap<&'e OrderKey, Draft<'e>>, Vec<Option<Outcome>>) {
    let mut drafts: BTreeMap<&OrderKey, Draft<'_>> = BTreeMap::new();
    let mut outcomes = failed.to_vec();
    for (number, event) in events.iter().enumerate() {
        let Event::Order(order, sole) = event else { continue };
        if outcomes[number].is_none() {
            outcomes[number] = Some(draft_order(&mut drafts, rows, order, *sole, number));
        }
    }
    for (number, event) in events.iter().enumerate() {
        let Event::Release(release) = event else { continue };
        if outcomes[number].is_none() {
            draft_release(&mut drafts, rows, release, number);
            outcomes[number] = Some(Outcome::Released);
        }
    }
    (drafts, outcomes)
}

fn draft_order<'e>(
    drafts: &mut BTreeMap<&'e OrderKey, Draft<'e>>,
    rows: &'e HashMap<OrderKey, Row>,
    order: &'e Order,
    sole: Sole,
    number: usize,
) -> Outcome {
    let draft = drafts.entry(&order.key).or_insert_with(|| {
        let before = rows.get(&order.key);
        let row = before.cloned().unwrap_or_else(|| Row {
            key: order.key.clone(),
            user: order.user.clone(),
            units: order.units,
            state: State::Sold,
            deadline_ms: None,
            sole: Sole::No,
            seen: SeenEntries::default(),
        });
        Draft { before, row, events: Vec::new(), is_changed: false }
    });
    let row = &mut draft.row;
    if row.user != order.user {
        if !row.is_tombstone() {
            return Outcome::Failed(Why::OtherUser);
        }
        // Somebody else's give-back named this id; it was not of this order.
        row.user.clone_from(&order.user);
        row.seen = SeenEntries::default();
    }
    if !row.seen.order(order.id) {
        return Outcome::Repeated;
    }
    draft.events.push(number);
    draft.is_changed = true;
    if row.seen.last_order() == Some(order.id) {
        row.units = order.units;
        row.deadline_ms = order.deadline_ms;
    }
    if row.seen.is_live() {
        row.state = if row.deadline_ms.is_some() { State::Held } else { State::Sold };
        row.sole = sole;
    }
    Outcome::Inserted
}

fn draft_release<'e>(
    drafts: &mut BTreeMap<&'e OrderKey, Draft<'e>>,
    rows: &'e HashMap<OrderKey, Row>,
    release: &'e Release,
    number: usize,
) {
    let known = drafts.get(&release.key).map(|draft| &draft.row).or(rows.get(&release.key));
    match known {
        Some(row) if row.user != release.user => return,
        // The entry of an order that was rejected has been acknowledged: it doesn't come.
        None if release.reason == Reason::Rejected => return,
        _ => {}
    }
    let draft = drafts.entry(&release.key).or_insert_with(|| {
        let before = rows.get(&release.key);
        let row = before.cloned().unwrap_or_else(|| Row {
            key: release.key.clone(),
            user: release.user.clone(),
            units: release.units,
            state: release.reason.state(),
            deadline_ms: None,
            sole: Sole::No,
            seen: SeenEntries::default(),
        });
        Draft { before, row, events: Vec::new(), is_changed: false }
    });
    let row = &mut draft.row;
    if !row.seen.release(release.id) {
        return;
    }
    draft.events.push(number);
    draft.is_changed = true;
    let is_last = row.seen.last_release() == Some(release.id);
    if !row.seen.is_live() && (row.state.is_live() || is_last) {
        row.state = release.reason.state();
        row.sole = Sole::No;
    }
}

/// The events of rows that would break the unique index, with the order that is in the way.
fn conflicts(drafts: &BTreeMap<&OrderKey, Draft<'_>>, holders: &Holders) -> Vec<(usize, Why)> {
    let mut found = Vec::new();
    let mut taken: HashMap<(&str, &str), &str> = HashMap::new();
    // Rows that the index knows already come first: what is new must give way.
    let (old, new): (Vec<_>, Vec<_>) = drafts
        .values()
        .filter(|draft| draft.row.sole == Sole::Yes)
        .partition(|draft| draft.before.is_some_and(|before| before.sole == Sole::Yes));
    for draft in old.into_iter().chain(new) {
        let Row { key, user, .. } = &draft.row;
        let held = holders.get(&(key.voucher.clone(), user.clone()));
        // A holder that this very batch gives back is in nobody's way.
        let held = held.map(String::as_str).filter(|other| {
            let other = OrderKey { voucher: key.voucher.clone(), order: (*other).to_owned() };
            drafts.get(&other).is_none_or(|draft| draft.row.sole == Sole::Yes)
        });
        let user = (key.voucher.as_str(), user.as_str());
        let other = taken.get(&user).copied().or(held).filter(|other| *other != key.order);
        match other {
            None => _ = taken.insert(user, &key.order),
            Some(other) => {
                let why = Why::HasOther(other.to_owned());
                found.extend(draft.events.iter().map(|number| (*number, why.clone())));
            }
        }
    }
    found
}

fn finish(drafts: BTreeMap<&OrderKey, Draft<'_>>, outcomes: Vec<Outcome>) -> Result<Plan, TooMany> {
    let mut plan = Plan { outcomes, ..Plan::default() };
    for (_, Draft { before, row, is_changed, .. }) in drafts {
        if !is_changed {
            continue;
        }
        let before_units = before.map_or(0, Row::live_units);
        let change = row.live_units().checked_sub(before_units).ok_or(TooMany)?;
        if change != 0 {
            let sum = plan.sales.entry(row.key.voucher.clone()).or_default();
            *sum = sum.checked_add(change).ok_or(TooMany)?;
        }
        match before {
            None => plan.inserts.push(row),
            Some(_) if row.state.is_live() => plan.updates.push(row),
            Some(_) => plan.releases.push(row),
        }
    }
    plan.sales.retain(|_, change| *change != 0);
    Ok(plan)
}

#[cfg(test)]
mod tests;
