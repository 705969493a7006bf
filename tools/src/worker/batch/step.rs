//! Which changes of state an order goes through; the shop's own statements run for each. Pure.
//!
//! An order changes once to held or sold, once to confirmed if it was held and paid, any number of
//! times to fewer units, once to released. If its release is read before the order is first
//! written, it has no change at all: another order may have its units by then, so a shop that
//! counts its own stock would find none to take.

use domain::book::State;

use super::{Paid, Record, Row, word};

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

    /// Whether the order is paid at this change of a state.
    fn is_of_paid(self, old: Option<State>) -> bool {
        match self {
            Self::Held => false,
            Self::Reduced | Self::Released => old != Some(State::Held),
            Self::Sold | Self::Confirmed => true,
        }
    }

    /// Units are on sale again.
    pub fn is_release(self) -> bool {
        matches!(self, Self::Reduced | Self::Released)
    }

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

/// A change of an order's state, with its own figures, and the row after all changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub change: Change,
    /// None for a new order.
    pub old: Option<State>,
    pub new: State,
    /// The units that the change is about, and those that the order has after it.
    pub units: i64,
    pub kept: i64,
    pub row: Row,
}

impl Step {
    /// The reference of the payment, once the order is paid.
    pub fn reference(&self) -> Option<&str> {
        self.row.known.reference.as_deref().filter(|_| self.change.is_of_paid(self.old))
    }
}

/// A step without its row, of which many have no need.
struct Figures {
    change: Change,
    old: Option<State>,
    new: State,
    units: i64,
    kept: i64,
}

/// The changes between two states of a row. `paid` is how many units a payment was for: fewer than
/// before if some were released while the order was held.
pub fn steps(before: Option<&Row>, after: &Row, paid: Paid) -> Vec<Step> {
    let with_row = |Figures { change, old, new, units, kept }| {
        let row = after.clone();
        Step { change, old, new, units, kept, row }
    };
    figures(before, after, paid).into_iter().map(with_row).collect()
}

/// Whether units were released of an order that was held before and was paid since, and nobody
/// tells whether before or after that.
pub fn is_untold(before: Option<&Row>, after: &Row, paid: Paid) -> bool {
    let held = before.filter(|row| !row.is_note() && row.known.state == State::Held);
    held.is_some_and(|before| {
        let told = paid.within(after.known.units, before.known.units);
        after.known.was_sold == Some(true) && told.least < told.most
    })
}

fn figures(before: Option<&Row>, after: &Row, paid: Paid) -> Vec<Figures> {
    let before = before.filter(|row| !row.is_note());
    let mut state = before.map(|row| row.known.state);
    let is_live = |state: Option<State>| state.is_some_and(State::is_live);
    if after.is_note() || (state.is_none() && !after.known.state.is_live()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut go = |change, new, (units, kept), state: &mut Option<State>| {
        steps.push(Figures { change, old: *state, new, units, kept });
        *state = Some(new);
    };
    let kept = after.known.units;
    let mut had = before.map_or(kept, |row| row.known.units);
    if !is_live(state) && after.known.state.is_live() {
        had = kept;
        match after.deadline_ms {
            Some(_) => go(Change::Held, State::Held, (had, had), &mut state),
            None => go(Change::Sold, State::Sold, (had, had), &mut state),
        }
    }
    if state == Some(State::Held) && after.known.was_sold == Some(true) {
        let paid = paid.within(kept, had).least;
        if paid < had {
            go(Change::Reduced, State::Held, (had - paid, paid), &mut state);
            had = paid;
        }
        go(Change::Confirmed, State::Sold, (had, had), &mut state);
    }
    if let Some(state_now) = state.filter(|state| state.is_live() && kept < had) {
        go(Change::Reduced, state_now, (had - kept, kept), &mut state);
    }
    if is_live(state) && !after.known.state.is_live() {
        go(Change::Released, after.known.state, (kept.min(had), 0), &mut state);
    }
    steps
}

/// What has become of an order, a line for each change with its own figures. How a row began is in
/// the row: its entry, when, and its deadline if it was held.
pub fn changes(before: Option<&Row>, after: &Row, paid: Paid, entry: &str) -> Vec<Record> {
    // An order can be reduced several times before one entry is read, or is read once more.
    let place = |kept: i64| format!("{entry} kept {kept}");
    let line = |from, to: &str, units, reference: Option<&str>| Record {
        key: after.key.clone(),
        entry: entry.to_owned(),
        from: word(from),
        to: to.to_owned(),
        units,
        reference: reference.map(str::to_owned),
        said: String::new(),
    };
    let begins = before.is_none_or(Row::is_note);
    let known = &after.known;
    // An order that is sold at once, or held, is not worth a look at its steps.
    let is_live = before.is_none() && !after.is_note() && known.state.is_live();
    let is_plain = is_live && known.reference.is_none();
    if is_plain && (after.deadline_ms.is_some()) == (known.state == State::Held) {
        return Vec::new();
    }
    let mut lines = Vec::new();
    for step in figures(before, after, paid) {
        let (is_first, is_told) = match step.change {
            Change::Held | Change::Sold => (true, false),
            // The note was written when that was read.
            Change::Confirmed => (false, before.is_some_and(|row| row.known.state == step.new)),
            _ => (false, false),
        };
        if !(begins && (is_first || is_told)) {
            let to = if step.change == Change::Reduced { "reduced" } else { step.new.word() };
            // The payment may have been for more units than the row had.
            let units = if step.change == Change::Released { known.units } else { step.units };
            let reference = known.reference.as_deref();
            let reference = reference.filter(|_| step.change.is_of_paid(step.old));
            lines.push(line(step.old, to, units, reference));
            if let (Change::Reduced, Some(line)) = (step.change, lines.last_mut()) {
                line.entry = place(step.kept);
            }
        }
    }
    let was = before.map(|row| (row.known.state, &row.known.reference));
    if lines.is_empty() && was != Some((known.state, &known.reference)) {
        let from = before.map(|row| row.known.state);
        lines.push(line(from, known.state.word(), known.units, known.reference.as_deref()));
    }
    // Of a note that is paid, too.
    let note = before.filter(|row| row.is_note() && row.known.state == State::Sold);
    if let Some(note) = note.filter(|note| note.known.units > known.units) {
        let (from, units) = (Some(State::Sold), note.known.units - known.units);
        let reduced = line(from, "reduced", units, known.reference.as_deref());
        lines.push(Record { entry: place(known.units), ..reduced });
    }
    lines
}
