//! How a batch of entries changes the rows, planned from the current rows before anything is
//! written. Pure.

mod draft;
mod step;

use std::collections::{BTreeMap, HashMap};

use crate::order_events::{Confirmation, Order, OrderKey, Release};
use crate::seen_entries::SeenEntries;
use domain::book::State;
use domain::entry_id::EntryId;

use draft::{Drafts, draft};
use step::steps;
pub use step::{Change, Step};

/// In place of the id of a confirmation that is only known from the release of the order.
pub const WAS_SOLD: &str = "-";

/// An entry that changes a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// With whether the voucher allows one order per user.
    Order(Order, Sole),
    Confirmation(Confirmation),
    Release(Release),
}

/// Whether the database must ensure that the user has no other live order of the voucher.
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
    /// Whether the unique index contains the row.
    pub sole: Sole,
    pub seen: SeenEntries,
    /// The entry of its confirmation; empty without one.
    pub confirmed_id: String,
}

impl Row {
    fn live_units(&self) -> i64 {
        if self.state.is_live() { self.units } else { 0 }
    }

    /// The row is not an order yet, only a note that it was confirmed or released before it was
    /// read.
    pub fn is_note(&self) -> bool {
        self.seen.last_order().is_none()
    }

    /// Is the row's last order confirmed? If an id was sold again, without a sale id to tell the
    /// two orders apart, a confirmation that is older than the last order doesn't count.
    pub fn is_confirmed(&self) -> bool {
        if self.confirmed_id.is_empty() || !self.seen.is_sold_again() {
            return !self.confirmed_id.is_empty();
        }
        let confirmed = EntryId::parse(self.confirmed_id.as_bytes()).map(|id| id.ms);
        confirmed >= self.seen.last_order().map(|id| id.ms)
    }
}

/// The result of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order is in a row now.
    Inserted,
    /// The order's row contains it already.
    Repeated,
    /// The row is sold, was released before, or is another user's.
    Confirmed,
    /// The row is released or is another user's, or there is none, as for most rejections.
    Released,
    Failed(Why),
}

/// What is wrong with the data of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Another user's order has this id.
    OtherUser,
    /// The user has another live order, with this id, and the limit is one.
    HasOther(String),
    /// The database's reason.
    Refused(String),
    /// One of the shop's statements changed no row.
    Unchanged(String),
}

/// Voucher, sale and user, and the user's live order in the unique index.
pub type Holders = HashMap<(String, String, String), String>;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rows that are new.
    pub inserts: Vec<Row>,
    /// Rows that are no longer live. Written first, since their users may have bought again.
    pub releases: Vec<Row>,
    /// Existing rows that are live.
    pub updates: Vec<Row>,
    /// The change of the units sold, by voucher and sale.
    pub sales: BTreeMap<(String, String), i64>,
    /// The changes that the shop's statements run for, releases before orders that take units.
    pub steps: Vec<Step>,
    /// One per event.
    pub outcomes: Vec<Outcome>,
}

/// Whether the shop has statements to run for changes of state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Steps {
    Wanted,
    Unwanted,
}

/// The units sold of a voucher would overflow.
#[derive(Debug, PartialEq, Eq)]
pub struct TooMany;

/// Plans how `events` change the existing rows. `holders` may name users in the unique index; the
/// database finds a conflict with a user that is not named.
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

/// The orders whose rows would violate the unique index, with the order that they conflict with.
fn conflicts(drafts: &Drafts<'_>, holders: &Holders) -> Vec<(usize, Why)> {
    let mut found = Vec::new();
    let mut taken: HashMap<(&str, &str, &str), &str> = HashMap::new();
    // Rows in the index come first: in a conflict the new row fails.
    let (old, new): (Vec<_>, Vec<_>) = drafts
        .values()
        .filter(|draft| draft.row.sole == Sole::Yes)
        .partition(|draft| draft.before.is_some_and(|before| before.sole == Sole::Yes));
    for draft in old.into_iter().chain(new) {
        let Row { key, user, .. } = &draft.row;
        let held = holders.get(&(key.voucher.clone(), key.sale.clone(), user.clone()));
        // A holder that this batch releases is not a conflict.
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
