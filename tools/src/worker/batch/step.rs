//! Which changes of state an order goes through; the shop's own statements run for each. Pure.
//!
//! An order changes once to held or sold, once to confirmed if it was held and paid, once to
//! released. If its release is read before the order is first written, it has no change at all:
//! another order may have its units by then, so a shop that counts its own stock would find none to
//! take.

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
    /// An order whose units are on sale again.
    Released,
}

impl Change {
    pub const ALL: [Self; 4] = [Self::Sold, Self::Held, Self::Confirmed, Self::Released];

    pub fn word(self) -> &'static str {
        match self {
            Self::Sold => "on_sold",
            Self::Held => "on_held",
            Self::Confirmed => "on_confirmed",
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
    pub row: Row,
}

/// The changes between two states of a row.
pub fn steps(before: Option<&Row>, after: &Row) -> Vec<Step> {
    let mut state = before.filter(|row| !row.is_note()).map(|row| row.state);
    if after.is_note() || (state.is_none() && !after.state.is_live()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut go = |change, new, state: &mut Option<State>| {
        steps.push(Step { change, old: *state, new, row: after.clone() });
        *state = Some(new);
    };
    let is_live = |state: Option<State>| state.is_some_and(State::is_live);
    if !is_live(state) && after.state.is_live() {
        match after.deadline_ms {
            Some(_) => go(Change::Held, State::Held, &mut state),
            None => go(Change::Sold, State::Sold, &mut state),
        }
    }
    if state == Some(State::Held) && after.is_confirmed() {
        go(Change::Confirmed, State::Sold, &mut state);
    }
    if is_live(state) && !after.state.is_live() {
        go(Change::Released, after.state, &mut state);
    }
    steps
}
