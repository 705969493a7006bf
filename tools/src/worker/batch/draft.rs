//! Drafts of rows: the events of a batch applied to the current rows. Pure.

use std::collections::{BTreeMap, HashMap};

use crate::order_events::{Confirmation, Order, OrderKey, Release};
use crate::seen_entries::SeenEntries;
use domain::book::{Reason, State};

use super::{Event, Outcome, Row, Sole, WAS_SOLD, Why};

/// The draft of a row.
pub struct Draft<'e> {
    pub before: Option<&'e Row>,
    pub row: Row,
    /// The indexes of its order events.
    pub orders: Vec<usize>,
    pub is_changed: bool,
}

pub type Drafts<'e> = BTreeMap<&'e OrderKey, Draft<'e>>;

/// Applies the events that have not failed: orders first, then confirmations, so that a
/// confirmation finds the row of an order in the same batch.
pub fn draft<'e>(
    events: &'e [Event],
    rows: &'e HashMap<OrderKey, Row>,
    failed: &[Option<Outcome>],
) -> (Drafts<'e>, Vec<Option<Outcome>>) {
    let mut drafts = Drafts::new();
    let mut outcomes = failed.to_vec();
    let open = |number: usize| failed.get(number).is_some_and(Option::is_none);
    for (number, event) in events.iter().enumerate().filter(|(number, _)| open(*number)) {
        if let Event::Order(order, sole) = event {
            outcomes[number] = Some(draft_order(&mut drafts, rows, order, *sole, number));
        }
    }
    for (number, event) in events.iter().enumerate().filter(|(number, _)| open(*number)) {
        if let Event::Confirmation(confirmation) = event {
            draft_confirmation(&mut drafts, rows, confirmation);
            outcomes[number] = Some(Outcome::Confirmed);
        }
    }
    for (number, event) in events.iter().enumerate().filter(|(number, _)| open(*number)) {
        if let Event::Release(release) = event {
            draft_release(&mut drafts, rows, release);
            outcomes[number] = Some(Outcome::Released);
        }
    }
    (drafts, outcomes)
}

/// The draft of a key; if there is neither a draft nor a row, a new row with these contents.
fn draft_of<'d, 'e>(
    drafts: &'d mut Drafts<'e>,
    rows: &'e HashMap<OrderKey, Row>,
    key: &'e OrderKey,
    (user, units, state): (&str, i64, State),
) -> &'d mut Draft<'e> {
    drafts.entry(key).or_insert_with(|| {
        let before = rows.get(key);
        let row = before.cloned().unwrap_or_else(|| Row {
            key: key.clone(),
            user: user.to_owned(),
            units,
            state,
            deadline_ms: None,
            sole: Sole::No,
            seen: SeenEntries::default(),
            confirmed_id: String::new(),
        });
        Draft { before, row, orders: Vec::new(), is_changed: false }
    })
}

fn draft_order<'e>(
    drafts: &mut Drafts<'e>,
    rows: &'e HashMap<OrderKey, Row>,
    order: &'e Order,
    sole: Sole,
    number: usize,
) -> Outcome {
    let draft = draft_of(drafts, rows, &order.key, (&order.user, order.units, State::Sold));
    let row = &mut draft.row;
    if row.user != order.user {
        if !row.is_note() {
            return Outcome::Failed(Why::OtherUser);
        }
        // The note is from another user's release or confirmation with this id, not from this
        // order's.
        row.user.clone_from(&order.user);
        row.seen = SeenEntries::default();
        row.confirmed_id.clear();
    }
    if !row.seen.order(order.id) {
        return Outcome::Repeated;
    }
    draft.orders.push(number);
    draft.is_changed = true;
    if row.seen.last_order() == Some(order.id) {
        row.units = order.units;
        row.deadline_ms = order.deadline_ms;
    }
    if row.seen.is_live() {
        let is_held = row.deadline_ms.is_some() && !row.is_confirmed();
        row.state = if is_held { State::Held } else { State::Sold };
        row.sole = sole;
    }
    Outcome::Inserted
}

/// Only accepted orders are confirmed, so the units count as sold even if the order wasn't read
/// yet.
fn draft_confirmation<'e>(
    drafts: &mut Drafts<'e>,
    rows: &'e HashMap<OrderKey, Row>,
    confirmation: &'e Confirmation,
) {
    let Confirmation { key, user, units, .. } = confirmation;
    let known = drafts.get(key).map(|draft| &draft.row).or(rows.get(key));
    if known.is_some_and(|row| row.user != *user) {
        return;
    }
    let draft = draft_of(drafts, rows, key, (user, *units, State::Sold));
    let row = &mut draft.row;
    let id = confirmation.id.to_string();
    // If the id was sold again, a later confirmation replaces the one of the old order.
    let is_of_old_order = row.seen.is_sold_again() && row.state == State::Held;
    if !row.confirmed_id.is_empty() && !is_of_old_order {
        return;
    }
    row.confirmed_id = id;
    draft.is_changed = true;
    if row.state == State::Held && row.is_confirmed() {
        row.state = State::Sold;
    }
}

fn draft_release<'e>(
    drafts: &mut Drafts<'e>,
    rows: &'e HashMap<OrderKey, Row>,
    release: &'e Release,
) {
    let Release { key, user, units, reason, .. } = release;
    let known = drafts.get(key).map(|draft| &draft.row).or(rows.get(key));
    match known {
        Some(row) if row.user != *user => return,
        // A rejection acknowledges the order's entry, so the entry will not be read.
        None if *reason == Reason::Rejected => return,
        _ => {}
    }
    let draft = draft_of(drafts, rows, key, (user, *units, State::Released(*reason)));
    let row = &mut draft.row;
    if !row.seen.release(release.id) {
        return;
    }
    draft.is_changed = true;
    if release.was_sold && row.confirmed_id.is_empty() {
        row.confirmed_id = WAS_SOLD.to_owned();
    }
    let is_last = row.seen.last_release() == Some(release.id);
    if !row.seen.is_live() && (row.state.is_live() || is_last) {
        row.state = State::Released(*reason);
        row.sole = Sole::No;
    }
}
