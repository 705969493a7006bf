//! Which changes of state an order goes through; the shop's own statements run for each. Pure.
//!
//! An order changes once to held or sold, once to confirmed if it was held and paid, any number of
//! times to fewer units, once to released. If its release is read before the order is first
//! written, it has no change at all: another order may have its units by then, so a shop that
//! counts its own stock would find none to take.

use domain::book::{Span, State};
use domain::judge::{ELSEWHERE, ELSEWHERE_PART};
use domain::sale::Units;

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
    /// The units were refunded elsewhere.
    pub is_elsewhere: bool,
    pub row: Row,
}

impl Step {
    /// The reference of the payment, once the order is paid; none where there is nothing to refund.
    pub fn reference(&self) -> Option<&str> {
        let is_paid = self.change.is_of_paid(self.old) && !self.is_elsewhere;
        self.row.known.reference.as_deref().filter(|_| is_paid)
    }
}

/// A step without its row, of which many have no need.
struct Figures {
    change: Change,
    old: Option<State>,
    new: State,
    units: i64,
    kept: i64,
    is_elsewhere: bool,
}

/// The units behind `kept` up to `had`, from the top: those that were refunded elsewhere apart from
/// others. Each part is what is kept after it, what was before, and whether.
fn parts(kept: i64, had: i64, elsewhere: &[Span]) -> Vec<(i64, i64, bool)> {
    let (mut parts, mut top) = (Vec::new(), had);
    while top > kept {
        let covers = |span: &&Span| (span.first.get()..=span.last.get()).contains(&top);
        let below = |span: &Span| Some(span.last.get()).filter(|last| *last < top);
        let (low, is_elsewhere) = match elsewhere.iter().find(covers) {
            Some(span) => (span.first.get() - 1, true),
            None => (elsewhere.iter().filter_map(below).max().unwrap_or(0), false),
        };
        parts.push((low.max(kept), top, is_elsewhere));
        top = low.max(kept);
    }
    parts
}

/// Were all units that an order had at last refunded elsewhere?
fn is_all(elsewhere: &[Span]) -> bool {
    elsewhere.iter().any(|span| span.first == Units::ONE)
}

/// The changes between two states of a row. `paid` is how many units a payment was for: fewer than
/// before if some were released while the order was held.
pub fn steps(before: Option<&Row>, after: &Row, paid: Paid, elsewhere: &[Span]) -> Vec<Step> {
    let with_row = |Figures { change, old, new, units, kept, is_elsewhere }| {
        let row = after.clone();
        Step { change, old, new, units, kept, is_elsewhere, row }
    };
    figures(before, after, paid, elsewhere).into_iter().map(with_row).collect()
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

fn figures(before: Option<&Row>, after: &Row, paid: Paid, elsewhere: &[Span]) -> Vec<Figures> {
    let before = before.filter(|row| !row.is_note());
    let mut state = before.map(|row| row.known.state);
    let is_live = |state: Option<State>| state.is_some_and(State::is_live);
    if after.is_note() || (state.is_none() && !after.known.state.is_live()) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    let mut go = |change, new, (units, kept, is_elsewhere), state: &mut Option<State>| {
        steps.push(Figures { change, old: *state, new, units, kept, is_elsewhere });
        *state = Some(new);
    };
    let kept = after.known.units;
    let mut had = before.map_or(kept, |row| row.known.units);
    if !is_live(state) && after.known.state.is_live() {
        had = kept;
        match after.deadline_ms {
            Some(_) => go(Change::Held, State::Held, (had, had, false), &mut state),
            None => go(Change::Sold, State::Sold, (had, had, false), &mut state),
        }
    }
    if state == Some(State::Held) && after.known.was_sold == Some(true) {
        let paid = paid.within(kept, had).least;
        if paid < had {
            go(Change::Reduced, State::Held, (had - paid, paid, false), &mut state);
            had = paid;
        }
        go(Change::Confirmed, State::Sold, (had, had, false), &mut state);
    }
    if let Some(state_now) = state.filter(|state| state.is_live() && kept < had) {
        let elsewhere = if state_now == State::Sold { elsewhere } else { &[] };
        for (low, top, is_elsewhere) in parts(kept, had, elsewhere) {
            go(Change::Reduced, state_now, (top - low, low, is_elsewhere), &mut state);
        }
    }
    if is_live(state) && !after.known.state.is_live() {
        let is_elsewhere = state == Some(State::Sold) && is_all(elsewhere);
        go(Change::Released, after.known.state, (kept.min(had), 0, is_elsewhere), &mut state);
    }
    steps
}

/// What has become of an order, a line for each change with its own figures. How a row began is in
/// the row: its entry, when, and its deadline if it was held.
pub fn changes(
    before: Option<&Row>,
    after: &Row,
    paid: Paid,
    elsewhere: &[Span],
    entry: &str,
) -> Vec<Record> {
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
    for step in figures(before, after, paid, elsewhere) {
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
            let mut line = line(step.old, to, units, reference);
            if step.change == Change::Reduced {
                line.entry = place(step.kept);
            }
            lines.extend(line.split(step.is_elsewhere));
        }
    }
    let was = before.map(|row| (row.known.state, &row.known.reference));
    if lines.is_empty() && was != Some((known.state, &known.reference)) {
        let from = before.map(|row| row.known.state);
        let line = line(from, known.state.word(), known.units, known.reference.as_deref());
        lines.extend(line.split(!known.state.is_live() && is_all(elsewhere)));
    }
    // Units that a note never had, or had before it was paid: some may be refunded already.
    let was_held = |row: &&Row| row.is_note() && row.known.state == State::Held;
    let had = match before {
        None if after.is_note() => elsewhere.iter().map(|span| span.last.get()).max(),
        before => before.filter(was_held).map(|note| note.known.units),
    };
    for (low, top, is_elsewhere) in parts(known.units, had.unwrap_or(0), elsewhere) {
        let (from, reference) = (Some(State::Sold), known.reference.as_deref());
        let part = Record { entry: place(low), ..line(from, ELSEWHERE_PART, top - low, reference) };
        lines.extend(is_elsewhere.then_some(part));
    }
    // Of a note that is paid, too.
    let note = before.filter(|row| row.is_note() && row.known.state == State::Sold);
    if let Some(note) = note.filter(|note| note.known.units > known.units) {
        for (low, top, is_elsewhere) in parts(known.units, note.known.units, elsewhere) {
            let reference = known.reference.as_deref();
            let reduced = line(Some(State::Sold), "reduced", top - low, reference);
            lines.extend(Record { entry: place(low), ..reduced }.split(is_elsewhere));
        }
    }
    lines
}

impl Record {
    /// As it is; or, of units that were refunded elsewhere, without the reference, which is in a
    /// line of its own that refunds nothing.
    fn split(self, is_elsewhere: bool) -> Vec<Self> {
        if !is_elsewhere || self.reference.is_none() {
            return vec![self];
        }
        let to = if self.to == "reduced" { ELSEWHERE_PART } else { ELSEWHERE };
        let elsewhere = Self { to: to.to_owned(), ..self.clone() };
        vec![Self { reference: None, ..self }, elsewhere]
    }
}
