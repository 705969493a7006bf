//! How a batch of entries changes the rows, planned from the current rows and what the server says
//! of their orders, before anything is written. Pure.

mod draft;
mod paid;
mod step;

use std::collections::{BTreeMap, HashMap};

use domain::book::{Span, State};
use domain::judge::{ELSEWHERE, ELSEWHERE_PART};
use domain::projection::{Book, Known};

use crate::order_events::{Event, Kind, OrderKey};
use crate::seen_entries::SeenEntries;

use draft::{Draft, Drafts, draft};
pub use paid::Paid;
pub use step::{Change, Step};
use step::{changes, steps};

/// In place of the id of a confirmation that is only known from the book or from the release of the
/// order.
pub const WAS_SOLD: &str = "-";

/// The same of an order of which units were released, and no entry has told yet whether these were
/// paid.
pub const UNTOLD: &str = "?";

/// Whether the database must ensure that the user has no other live order of the voucher.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sole {
    Yes,
    No,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    pub key: OrderKey,
    pub user: String,
    pub known: Known<String>,
    pub deadline_ms: Option<i64>,
    /// Whether the unique index contains the row.
    pub sole: Sole,
    pub seen: SeenEntries,
    /// The entry of its confirmation; empty without one.
    pub confirmed_id: String,
    /// What the server says that contradicts the row; empty if nothing does.
    pub disputed: String,
    /// Whether a person has settled that.
    pub is_settled: bool,
}

impl Row {
    /// A new row.
    pub fn new(key: OrderKey, user: String, known: Known<String>) -> Self {
        Self {
            key,
            user,
            known,
            deadline_ms: None,
            sole: Sole::No,
            seen: SeenEntries::default(),
            confirmed_id: String::new(),
            disputed: String::new(),
            is_settled: false,
        }
    }

    pub fn live_units(&self) -> i64 {
        if self.known.state.is_live() { self.known.units } else { 0 }
    }

    /// The row is not an order yet, only a note that it was confirmed or released before it was
    /// read.
    pub fn is_note(&self) -> bool {
        self.seen.last_order().is_none()
    }

    /// It is not known whether units that were released had been paid.
    pub fn is_untold(&self) -> bool {
        self.confirmed_id == UNTOLD
    }

    /// Nothing changes the row but a person.
    pub fn is_disputed(&self) -> bool {
        !self.disputed.is_empty() && !self.is_settled
    }
}

/// An order as the server has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fact {
    pub user: String,
    pub known: Known<String>,
    /// Only while it is held.
    pub deadline_ms: Option<i64>,
    /// How many units its payment is for, if that was said.
    pub paid: Option<i64>,
    /// Units of its payment that were refunded elsewhere.
    pub elsewhere: Vec<Span>,
}

impl Fact {
    pub fn of(user: String, known: Known<String>) -> Self {
        Self { user, known, deadline_ms: None, paid: None, elsewhere: Vec::new() }
    }
}

/// What the server says of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Has(Fact),
    /// The order of this user is in line, so it has no row: if there is one, it was lost.
    Waits(String),
    /// It has no such order, and why.
    Without(Book<String>),
    /// It can't tell, for this reason.
    Unreadable(String),
}

/// What the server says, by order. An order that is not asked for has no book.
pub type Answers = HashMap<OrderKey, Answer>;

/// The result of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The order is in a row now.
    Inserted,
    /// The order's row contains it already.
    Repeated,
    /// The row is sold, was released before, or is another user's.
    Confirmed,
    /// The row is released or is another user's, or there is none.
    Released,
    /// The row was looked at without an entry.
    Looked,
    /// The entry is no longer this worker's: nothing is written for it.
    Gone,
    Failed(Why),
}

/// What is wrong with the data of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Another user's order has this id.
    OtherUser,
    /// The user has another live order, with this id, and the limit is one.
    HasOther(String),
    /// Its row waits for a person.
    Disputed(String),
    /// Its fields, or an id in them, are none that can be a row.
    Unfit(String),
    /// The reason of the database, or of the server.
    Refused(String),
    /// One of the shop's statements changed no row.
    Unchanged(String),
    /// It could not be written, for a reason that says nothing of its data.
    Elsewhere(String),
}

impl Why {
    pub fn text(&self) -> String {
        match self {
            Self::OtherUser => "the order id belongs to another user's order".to_owned(),
            Self::HasOther(other) => format!("the user has another order of this voucher: {other}"),
            Self::Disputed(said) => {
                format!("its row waits for a person, since the server says: {said}")
            }
            Self::Refused(text)
            | Self::Unchanged(text)
            | Self::Elsewhere(text)
            | Self::Unfit(text) => text.clone(),
        }
    }
}

/// Voucher, sale and user, and the user's live order in the unique index.
pub type Holders = HashMap<(String, String, String), String>;

/// A line of the table of changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub key: OrderKey,
    /// The stream and the id of the entry, or what else caused it.
    pub entry: String,
    pub from: &'static str,
    pub to: String,
    pub units: i64,
    pub reference: Option<String>,
    /// What the server said, if it contradicts.
    pub said: String,
}

/// Units are on sale again.
fn is_release(word: &str) -> bool {
    matches!(State::parse(word.as_bytes()), Some(State::Released(_))) || word == "reduced"
}

impl Record {
    /// It refunds units of the payment of a row, or says that they were refunded elsewhere.
    fn is_refund_of(&self, row: &Row) -> bool {
        let is_its = is_release(&self.to) || [ELSEWHERE, ELSEWHERE_PART].contains(&&*self.to);
        is_its && self.reference.is_some() && self.reference == row.known.reference
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Rows that are new.
    pub inserts: Vec<Row>,
    /// Rows that are no longer live. Written first, since their users may have bought again.
    pub releases: Vec<Row>,
    /// Existing rows that are live.
    pub updates: Vec<Row>,
    pub records: Vec<Record>,
    /// Some of these are about payments that changed no order.
    pub has_payments: bool,
    /// The change of the units sold, by voucher and sale.
    pub sales: BTreeMap<(String, String), i64>,
    /// The changes that the shop's statements run for, releases before orders that take units.
    pub steps: Vec<Step>,
    /// One per event.
    pub outcomes: Vec<Outcome>,
    /// The rows that are disputed from now on, and those that no longer are.
    pub disputes: Vec<Row>,
    pub healed: Vec<Row>,
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

/// Everything that a plan is made from.
pub struct Batch<'b> {
    pub events: &'b [(Event, Sole)],
    pub rows: &'b HashMap<OrderKey, Row>,
    pub answers: &'b Answers,
    /// Users in the unique index, as far as they are known: the database finds a conflict with
    /// another user.
    pub holders: &'b Holders,
    /// Units on lines of the refunds, of orders of whose payment something is not told.
    pub refunded: &'b HashMap<OrderKey, i64>,
    pub wants: Steps,
}

/// Plans how events change the existing rows. `outcomes` has those of events that are left out.
pub fn plan(batch: &Batch<'_>, left_out: Vec<Option<Outcome>>) -> Result<Plan, TooMany> {
    let mut outcomes = left_out;
    loop {
        let (drafts, records, found) = draft(batch, &outcomes);
        let conflicts = conflicts(&drafts, batch.holders);
        if conflicts.is_empty() {
            let found = found.into_iter().map(|outcome| outcome.unwrap_or(Outcome::Released));
            let is_payment = |event: &Event| matches!(event.kind, Kind::Payment(_));
            let has_payments = batch.events.iter().any(|(event, _)| is_payment(event));
            let plan = Plan { outcomes: found.collect(), records, has_payments, ..Plan::default() };
            return finish(plan, drafts, batch.wants);
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

fn finish(mut plan: Plan, drafts: Drafts<'_>, wants: Steps) -> Result<Plan, TooMany> {
    let mut others = Vec::new();
    for (_, draft) in drafts {
        let Draft { before, row, is_changed, paid, elsewhere, .. } = draft;
        if !is_changed {
            continue;
        }
        let before_units = before.map_or(0, Row::live_units);
        let change = row.live_units().checked_sub(before_units).ok_or(TooMany)?;
        if change != 0 {
            let sale = (row.key.voucher.clone(), row.key.sale.clone());
            let sum = plan.sales.entry(sale).or_default();
            *sum = sum.checked_add(change).ok_or(TooMany)?;
        }
        // A dispute leaves the shop's tables as they are.
        let steps = match wants {
            Steps::Wanted if !row.is_disputed() => steps(before, &row, paid, &elsewhere),
            _ => Vec::new(),
        };
        if change < 0 {
            plan.steps.extend(steps)
        } else {
            others.extend(steps)
        }
        match (before.is_some_and(Row::is_disputed), row.is_disputed()) {
            (false, true) => plan.disputes.push(row.clone()),
            (true, false) => plan.healed.push(row.clone()),
            _ => {}
        }
        match before {
            None => plan.inserts.push(row),
            Some(_) if row.known.state.is_live() => plan.updates.push(row),
            Some(_) => plan.releases.push(row),
        }
    }
    plan.steps.extend(others);
    plan.sales.retain(|_, change| *change != 0);
    Ok(plan)
}

impl Plan {
    /// A line refunds the payment of its order already: these changes refund nothing.
    pub fn refunds_nothing(&mut self) {
        for record in self.records.iter_mut().filter(|record| is_release(&record.to)) {
            record.reference = None;
        }
        for step in self.steps.iter_mut().filter(|step| step.change.is_release()) {
            step.row.known.reference = None;
        }
    }
}

/// The plan for a row that a person settles.
pub fn settled(
    before: &Row,
    row: Row,
    now_ms: i64,
    wants: Steps,
    also: Option<&str>,
) -> Result<Plan, TooMany> {
    let entry = format!("settle {now_ms}");
    let mut records = changes(Some(before), &row, Paid::UNKNOWN, &[], &entry);
    let settled = Record {
        key: before.key.clone(),
        entry,
        from: before.known.state.word(),
        to: "settled".to_owned(),
        units: before.known.units,
        reference: before.known.reference.clone(),
        said: row.disputed.clone(),
    };
    records.extend(also.map(|word| Record { to: word.to_owned(), ..settled.clone() }));
    records.push(settled);
    let draft = Draft { is_changed: true, ..Draft::of(Some(before), row) };
    let plan = Plan { records, ..Plan::default() };
    finish(plan, Drafts::from([(&before.key, draft)]), wants)
}

/// The plan for what a person tells of the payment of a row.
pub fn told(row: &Row, paid: Paid, refunded: i64, now_ms: i64) -> Plan {
    let records = paid::rest(row, paid, refunded, &[], &format!("settle {now_ms}")).0;
    let after = Row { confirmed_id: WAS_SOLD.to_owned(), ..row.clone() };
    let mut plan = Plan { records: records.into_iter().collect(), ..Plan::default() };
    match row.known.state.is_live() {
        true => plan.updates.push(after),
        false => plan.releases.push(after),
    }
    plan
}

/// The word of a state, or nothing if there is none yet.
fn word(state: Option<State>) -> &'static str {
    state.map_or("", State::word)
}

#[cfg(test)]
mod tests;
