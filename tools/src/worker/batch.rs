//! What a batch of entries does to the rows: planned from the rows as they are, before anything is
//! written. Pure.

mod draft;
mod step;

use std::collections::{BTreeMap, HashMap};

use domain::book::State;
use domain::entry_id::EntryId;
use domain::order_events::{Confirmation, Order, OrderKey, Release};
use domain::seen_entries::SeenEntries;

use draft::{Drafts, draft};
use step::steps;
pub use step::{Change, Step};

/// Stands for a confirmation of which only the release of the order tells.
pub const WAS_SOLD: &str = "-";

/// An entry that is to become part of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// With whether the voucher sells to a user once.
    Order(Order, Sole),
    Confirmation(Confirmation),
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
            Self::Confirmation(confirmation) => &confirmation.key,
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
    /// The entry of its confirmation; empty without one.
    pub confirmed_id: String,
}

impl Row {
    fn live_units(&self) -> i64 {
        if self.state.is_live() { self.units } else { 0 }
    }

    /// Not an order, but the note that it was confirmed or released before it was seen.
    pub fn is_note(&self) -> bool {
        self.seen.last_order().is_none()
    }

    /// Was what the row says last confirmed? Where the same id was sold again, without a sale to
    /// tell the two apart, a confirmation from before the last order doesn't count.
    pub fn is_confirmed(&self) -> bool {
        if self.confirmed_id.is_empty() || !self.seen.is_sold_again() {
            return !self.confirmed_id.is_empty();
        }
        let confirmed = EntryId::parse(self.confirmed_id.as_bytes()).map(|id| id.ms);
        confirmed >= self.seen.last_order().map(|id| id.ms)
    }
}

/// What became of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order is in a row now.
    Inserted,
    /// The order's row has seen it before.
    Repeated,
    /// The row is sold, or released already, or there is none that it means.
    Confirmed,
    /// The row is released, or there is none that it means.
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
    /// One of the shop's statements has changed no row.
    Unchanged(String),
}

/// A user of a sale of a voucher, and the live order by which the unique index knows them.
pub type Holders = HashMap<(String, String, String), String>;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rows that are new.
    pub inserts: Vec<Row>,
    /// Rows that are live no more. To be written first: their users may buy again.
    pub releases: Vec<Row>,
    /// Rows that are there, and are live.
    pub updates: Vec<Row>,
    /// By how much the units sold of vouchers in their sales change.
    pub sales: BTreeMap<(String, String), i64>,
    /// What the shop's statements are told, what frees units before what takes them.
    pub steps: Vec<Step>,
    /// Of each event.
    pub outcomes: Vec<Outcome>,
}

/// Whether somebody is to be told of the changes of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Wanted,
    Unwanted,
}

/// The units sold of a voucher would be beyond all bounds.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

/// Plans what `events` do to the rows there are. `holders` may name users that the unique index
/// knows; a conflict with one that is not named is found by the database.
pub fn plan(
    events: &[Event],
    rows: &HashMap<OrderKey, Row>,
    holders: &Holders,
    wants: Steps,
) -> Result<Plan, TooMany> {
    let mut outcomes: Vec<Option<Outcome>> = vec![None; events.len()];
    loop {
        let (drafts, found) = draft(events, rows, &outcomes);
        let conflicts = conflicts(&drafts, holders);
        if conflicts.is_empty() {
            let found = found.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Released));
            return finish(drafts, found.collect(), wants);
        }
        for (number, why) in conflicts {
            outcomes[number] = Some(Outcome::Failed(why));
        }
    }
}

/// The orders whose rows would break the unique index, with the order that is in the way.
fn conflicts(drafts: &Drafts<'_>, holders: &Holders) -> Vec<(usize, Why)> {
    let mut found = Vec::new();
    let mut taken: HashMap<(&str, &str, &str), &str> = HashMap::new();
    // Rows that the index knows already come first: what is new must give way.
    let (old, new): (Vec<_>, Vec<_>) = drafts
        .values()
        .filter(|draft| draft.row.sole == Sole::Yes)
        .partition(|draft| draft.before.is_some_and(|before| before.sole == Sole::Yes));
    for draft in old.into_iter().chain(new) {
        let Row { key, user, .. } = &draft.row;
        let held = holders.get(&(key.voucher.clone(), key.sale.clone(), user.clone()));
        // A holder that this very batch releases is in nobody's way.
        let held = held.map(String::as_str).filter(|other| {
            let other = OrderKey { order: (*other).to_owned(), ..key.clone() };
            drafts.get(&other).is_none_or(|draft| draft.row.sole == Sole::Yes)
        });
        let user = (key.voucher.as_str(), key.sale.as_str(), user.as_str());
        let other = taken.get(&user).copied().or(held).filter(|other| *other != key.order);
        match other {
            None => _ = taken.insert(user, &key.order),
            Some(other) => {
                let why = Why::HasOther(other.to_owned());
                found.extend(draft.orders.iter().map(|number| (*number, why.clone())));
            }
        }
    }
    found
}

fn finish(drafts: Drafts<'_>, outcomes: Vec<Outcome>, wants: Steps) -> Result<Plan, TooMany> {
    let mut plan = Plan { outcomes, ..Plan::default() };
    let mut others = Vec::new();
    for (_, draft) in drafts {
        if !draft.is_changed {
            continue;
        }
        let (before, row) = (draft.before, draft.row);
        let before_units = before.map_or(0, Row::live_units);
        let change = row.live_units().checked_sub(before_units).ok_or(TooMany)?;
        if change != 0 {
            let sale = (row.key.voucher.clone(), row.key.sale.clone());
            let sum = plan.sales.entry(sale).or_default();
            *sum = sum.checked_add(change).ok_or(TooMany)?;
        }
        let steps = match wants {
            Steps::Wanted => steps(before, &row),
            Steps::Unwanted => Vec::new(),
        };
        if change < 0 {
            plan.steps.extend(steps)
        } else {
            others.extend(steps)
        }
        match before {
            None => plan.inserts.push(row),
            Some(_) if row.state.is_live() => plan.updates.push(row),
            Some(_) => plan.releases.push(row),
        }
    }
    plan.steps.extend(others);
    plan.sales.retain(|_, change| *change != 0);
    Ok(plan)
}

#[cfg(test)]
mod tests;
