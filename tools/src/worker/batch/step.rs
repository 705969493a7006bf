//! Which changes of state an order goes through; the shop's own statements run for each. Pure.
//!
//! An order changes once to held or sold, once to confirmed if it was held and paid, any number of
//! times to fewer units, once to released. If its release is read before the order is first
//! written, it has no change at all: another order may have its units by then, so a shop that
//! counts its own stock would find none to take.

use domain::book::State;

use super::Row;

/// A change of an order's state, with the words of the statements file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Change {
    /// A new order that is sold at once.
    Sold,
    /// A new order that is held until it is paid.
    Held,
    /// A held order that was paid.
    Confirmed,
    /// An order some of whose units are on sale again.
    Reduced,
    /// An order whose units are on sale again.
    Released,
}

impl Change {
    pub const ALL: [Self; 5] =
        [Self::Sold, Self::Held, Self::Confirmed, Self::Reduced, Self::Released];

    pub fn word(self) -> &'static str {
        match self {
            Self::Sold => "on_sold",
            Self::Held => "on_held",
            Self::Confirmed => "on_confirmed",
            Self::Reduced => "on_reduced",
            Self::Released => "on_released",
        }
    }
}

/// A change of an order's state, with the row after it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub change: Change,
    /// None for a new order.
    pub old: Option<State>,
    pub new: State,
    /// The units that the change is about.
    pub units: i64,
    pub row: Row,
}

/// The changes between two states of a row.
pub fn steps(before: Option<&Row>, after: &Row) -> Vec<Step> {
    let before = before.filter(|row| !row.is_note());
    let mut state = before.map(|row| row.known.state);
    let is_live = |state: Option<State>| state.is_some_and(State::is_live);
    if after.is_note() || (state.is_none() && !after.known.state.is_live()) {
        return Vec::new();
    }
    let kept = after.known.units;
    let mut had = before.map_or(kept, |row| row.known.units);
    let mut steps = Vec::new();
    let mut go = |change, new, units, state: &mut Option<State>| {
        steps.push(Step { change, old: *state, new, units, row: after.clone() });
        *state = Some(new);
    };
    if !is_live(state) && after.known.state.is_live() {
        had = kept;
        match after.deadline_ms {
            Some(_) => go(Change::Held, State::Held, had, &mut state),
            None => go(Change::Sold, State::Sold, had, &mut state),
        }
    }
    if state == Some(State::Held) && after.known.was_sold == Some(true) {
        go(Change::Confirmed, State::Sold, had, &mut state);
    }
    if let Some(state_now) = state.filter(|state| state.is_live() && kept < had) {
        go(Change::Reduced, state_now, had - kept, &mut state);
    }
    if is_live(state) && !after.known.state.is_live() {
        go(Change::Released, after.known.state, kept, &mut state);
    }
    steps
}
