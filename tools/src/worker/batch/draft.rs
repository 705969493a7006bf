//! Drafts of rows: the events of a batch applied to the current rows. Pure.

use std::collections::BTreeMap;

use domain::book::{Reason, Span, State};
use domain::projection::{Book, Contradiction, Known, LOST, project};

use super::paid::Payments;
use super::step::{changes, is_untold};
use super::{Answer, Batch, Outcome, Paid, Record, Row, Sole, UNTOLD, WAS_SOLD, Why, word};
use crate::order_events::{Event, Kind, OrderKey};
use crate::seen_entries::SeenEntries;

/// The draft of a row.
pub struct Draft<'e> {
    pub before: Option<&'e Row>,
    pub row: Row,
    /// The indexes of its order events.
    pub orders: Vec<usize>,
    pub is_changed: bool,
    /// How many units a payment was for, as far as the entries tell.
    pub paid: Paid,
    /// Units that were refunded elsewhere: no line refunds them.
    pub elsewhere: Vec<Span>,
    /// Units on lines of the refunds, if something is not told of the payment.
    pub refunded: i64,
}

impl<'e> Draft<'e> {
    pub fn of(before: Option<&'e Row>, row: Row) -> Self {
        let (orders, paid) = (Vec::new(), Paid::UNKNOWN);
        Self { before, row, orders, is_changed: false, paid, elsewhere: Vec::new(), refunded: 0 }
    }
}

pub type Drafts<'e> = BTreeMap<&'e OrderKey, Draft<'e>>;

/// Applies the events that have no outcome yet: orders first, then confirmations, so that a
/// confirmation finds the row of an order in the same batch.
pub fn draft<'e>(
    batch: &Batch<'e>,
    left_out: &[Option<Outcome>],
) -> (Drafts<'e>, Vec<Record>, Vec<Option<Outcome>>) {
    let mut drafts = Drafts::new();
    let (mut outcomes, mut records) = (left_out.to_vec(), Vec::new());
    let mut numbers: Vec<usize> =
        (0..batch.events.len()).filter(|number| left_out[*number].is_none()).collect();
    numbers.sort_by_key(|number| batch.events[*number].0.which());
    let payments = Payments::of_batch(batch.events);
    for number in numbers {
        let (event, sole) = &batch.events[number];
        let known = drafts.get(&event.key).map(|draft| &draft.row).or(batch.rows.get(&event.key));
        let answer = batch.answers.get(&event.key);
        let outcome = match refused(answer, event, known) {
            Some(outcome) => outcome,
            None => match (&event.kind, event.known().or(known.map(|row| row.known.clone()))) {
                (Kind::Payment(word), _) => {
                    // What its release refunds is not refunded again.
                    let is_refunded = |row: &Row| {
                        row.known.refunds(event.reference.as_ref()) && word != "unknown"
                    };
                    if !known.is_some_and(is_refunded) {
                        records.push(record(event, known.map(|row| row.known.state), word, ""));
                    }
                    Outcome::Confirmed
                }
                (_, Some(told)) => {
                    let draft = draft_of(&mut drafts, batch, event, &told, number);
                    if draft.paid == Paid::UNKNOWN {
                        draft.paid = payments.of(draft, event);
                    }
                    draft.hear(answer, event, &told, *sole, &mut records)
                }
                (_, None) => Outcome::Repeated,
            },
        };
        outcomes[number] = Some(outcome);
    }
    (drafts, records, outcomes)
}

/// The outcome of an event that is not this row's, or whose order the server can't tell.
fn refused(answer: Option<&Answer>, event: &Event, row: Option<&Row>) -> Option<Outcome> {
    let is_order = matches!(event.kind, Kind::Order { .. });
    let is_payment = matches!(event.kind, Kind::Payment(_));
    if let Some(Answer::Unreadable(why)) = answer {
        return Some(Outcome::Failed(Why::Refused(why.clone())));
    }
    if is_payment || matches!(event.kind, Kind::Look | Kind::Lost) {
        return None;
    }
    if let Some(row) = row {
        let is_other = row.user != event.user;
        // A note of another user's release or confirmation with this id is not this order's.
        return match is_order {
            true if is_other && !row.is_note() => Some(Outcome::Failed(Why::OtherUser)),
            true if !is_other && row.is_note() && row.is_disputed() => {
                Some(Outcome::Failed(Why::Disputed(row.disputed.clone())))
            }
            false if is_other => Some(event.done()),
            _ => None,
        };
    }
    let Some(Answer::Has(fact)) = answer else { return None };
    let is_other = fact.user != event.user;
    is_other.then(|| if is_order { Outcome::Failed(Why::OtherUser) } else { event.done() })
}

/// The draft of an event's order; if there is neither a draft nor a row, a new row with what the
/// event tells.
fn draft_of<'d, 'e>(
    drafts: &'d mut Drafts<'e>,
    batch: &Batch<'e>,
    event: &'e Event,
    told: &Known<String>,
    number: usize,
) -> &'d mut Draft<'e> {
    let draft = drafts.entry(&event.key).or_insert_with(|| {
        let before = batch.rows.get(&event.key);
        let new = || Row::new(event.key.clone(), event.user.clone(), told.clone());
        let row = before.cloned().unwrap_or_else(new);
        let refunded = batch.refunded.get(&event.key).copied().unwrap_or(0);
        Draft { refunded, ..Draft::of(before, row) }
    });
    if matches!(event.kind, Kind::Order { .. }) {
        draft.orders.push(number);
    }
    draft
}

impl Draft<'_> {
    /// Whether the row exists, or an event before this one has made it.
    fn exists(&self) -> bool {
        self.before.is_some() || self.is_changed
    }

    fn hear(
        &mut self,
        answer: Option<&Answer>,
        event: &Event,
        told: &Known<String>,
        sole: Sole,
        records: &mut Vec<Record>,
    ) -> Outcome {
        let from = self.exists().then_some(self.row.known.state);
        let before = self.exists().then(|| self.row.clone());
        let is_new = self.note(event, sole);
        if event.kind == Kind::Confirmed {
            self.paid = Paid::told_by(event).unwrap_or(self.paid);
        }
        self.hear_refunds(answer, event);
        let is_healed = self.row.is_disputed() && self.heal(answer);
        if self.row.is_disputed() {
            records.push(record(event, from, "disputed", &self.row.disputed));
        } else if event.key.is_managed() {
            // An old entry does not make a dispute of it again.
            let told = (told, is_healed);
            self.follow(answer, event, told, from, records);
        } else {
            self.count(event, told);
        }
        self.row.is_confirmed_somehow();
        let begun = self.begun(before.is_none(), event, told);
        let from = begun.as_ref().or(before.as_ref());
        // How many units a note had when it was paid, its own entry tells at most.
        let was_note = match &before {
            None => !event.is_order(),
            Some(before) => before.is_note() && before.known.state == State::Held,
        };
        let was_untold = was_note || before.as_ref().is_some_and(Row::is_untold);
        if was_note || is_untold(from, &self.row, self.paid) {
            self.row.is_told_by_nobody();
        }
        let is_changed = before.as_ref().is_none_or(|before| self.row != *before);
        if is_changed && !self.row.is_disputed() {
            let (paid, elsewhere) = (self.paid, &self.elsewhere);
            records.extend(changes(from, &self.row, paid, elsewhere, &event.place()));
        }
        if (was_untold || event.paid.is_some()) && !self.row.is_disputed() {
            self.explain(event, records);
        }
        self.is_changed |= before.as_ref().is_none_or(|before| self.row != *before);
        match event.kind {
            Kind::Order { .. } if !is_new => Outcome::Repeated,
            _ => event.done(),
        }
    }

    /// Remembers an entry; false if it is known. The first entry of an order makes the row its
    /// user's.
    fn note(&mut self, event: &Event, sole: Sole) -> bool {
        let row = &mut self.row;
        match &event.kind {
            Kind::Order { deadline_ms } => {
                let sold_again = !event.key.is_managed() && row.is_rejected_before(event);
                if row.user != event.user || sold_again {
                    row.user.clone_from(&event.user);
                    row.seen = SeenEntries::default();
                    row.confirmed_id.clear();
                }
                if !row.seen.order(event.id) {
                    return false;
                }
                if row.seen.last_order() == Some(event.id) {
                    row.deadline_ms = *deadline_ms;
                    row.sole = sole;
                }
                true
            }
            Kind::Confirmed => {
                let id = event.id.to_string();
                let is_new = row.confirmed_id != id;
                match &*row.confirmed_id {
                    "" if event.is_made() => row.confirmed_id = WAS_SOLD.to_owned(),
                    "" | WAS_SOLD | UNTOLD if !event.is_made() => row.confirmed_id = id,
                    _ => {}
                }
                is_new
            }
            Kind::Released { .. } => row.seen.release(event.id),
            Kind::Payment(_) => true,
            Kind::Look | Kind::Lost => false,
        }
    }

    /// A row that begins with fewer units than its entry has was reduced before it was read.
    fn begun(&self, is_new: bool, event: &Event, told: &Known<String>) -> Option<Row> {
        let is_order = matches!(event.kind, Kind::Order { .. }) && event.key.is_managed();
        let is_less = is_new && is_order && told.units > self.row.known.units;
        is_less.then(|| Row { known: told.clone(), ..self.row.clone() })
    }

    /// Ends a dispute if the server has the order again, and says no less than the row. After a
    /// loss a release of what was sold is not healing: a person decides.
    fn heal(&mut self, answer: Option<&Answer>) -> bool {
        let Some(Answer::Has(fact)) = answer else { return false };
        let (row, book) = (&self.row.known, Book::Has(fact.known.clone()));
        let is_less = row.state == State::Sold
            && (fact.known.state != State::Sold || fact.known.units < row.units);
        let heals =
            !is_less && fact.user == self.row.user && project(Some(row), None, &book).is_ok();
        if heals {
            self.row.disputed.clear();
        }
        heals
    }

    /// The row of a managed voucher's order follows the book, or is disputed.
    fn follow(
        &mut self,
        answer: Option<&Answer>,
        event: &Event,
        (told, is_healed): (&Known<String>, bool),
        from: Option<State>,
        records: &mut Vec<Record>,
    ) {
        let (fact, book) = match answer {
            Some(Answer::Has(fact)) => (Some(fact), Book::Has(fact.known.clone())),
            Some(Answer::Waits(_)) => (None, Book::Lacks),
            Some(Answer::Without(book)) => (None, book.clone()),
            _ => (None, Book::Over),
        };
        let row = &mut self.row;
        let known = from.is_some().then_some(&row.known);
        let other = fact.map(|fact| &fact.user).filter(|user| **user != row.user);
        let is_entry = !is_healed && !matches!(event.kind, Kind::Look | Kind::Lost);
        let found = match (other, fact) {
            (Some(_), _) => Err(Contradiction { known: known.unwrap_or(told).clone() }),
            // It ended because the server had lost it; so it is not over.
            (None, Some(fact)) if row.disputed == LOST => Ok(Some(fact.known.clone())),
            (None, None) if event.kind == Kind::Lost && row.known.state == State::Held => {
                row.disputed = LOST.to_owned();
                row.is_settled = true;
                Ok(Some(Known::new(State::Released(Reason::Expired), None, row.known.units, None)))
            }
            (None, _) => project(known, Some(told).filter(|_| is_entry), &book),
        };
        // What a person has settled stands as long as the server says the same.
        if row.is_settled && row.disputed != LOST && row.disputed == book.words() && other.is_none()
        {
            return;
        }
        match found {
            Ok(known) => {
                if fact.is_some() {
                    // What a person has settled, the server says now.
                    row.disputed.clear();
                    row.is_settled = false;
                }
                row.known = known.unwrap_or_else(|| told.clone());
                // SECKILL.EXTEND appends no entry: only the book has the new deadline.
                row.deadline_ms = fact.and_then(|fact| fact.deadline_ms).or(row.deadline_ms);
            }
            Err(Contradiction { known: without_row }) => {
                // The shop's tables stay as they are, and so must the row that they agree with; the
                // record has what the entry said.
                if known.is_none() {
                    row.known = without_row;
                }
                let said = other
                    .map_or_else(|| said(event, &book), |user| Book::<String>::words_of_user(user));
                if row.disputed != said {
                    records.push(record(event, from, "disputed", &said));
                    row.disputed = said;
                    row.is_settled = false;
                }
            }
        }
        if !row.known.state.is_live() {
            row.sole = Sole::No;
        }
    }

    /// Without a book the entries are counted: an id that was released can be sold again.
    fn count(&mut self, event: &Event, told: &Known<String>) {
        let row = &mut self.row;
        let (is_live, is_note) = (row.seen.is_live(), row.is_note());
        match event.kind {
            Kind::Order { .. } if row.seen.last_order() == Some(event.id) => {
                row.known.units = told.units;
            }
            Kind::Confirmed => {
                row.known.reference = row.known.reference.take().or(told.reference.clone());
            }
            _ => {}
        }
        let was_sold = matches!(event.kind, Kind::Released { was: Some(State::Sold), .. });
        if was_sold && row.confirmed_id.is_empty() {
            row.confirmed_id = WAS_SOLD.to_owned();
        }
        let is_held = row.deadline_ms.is_some() && row.confirmed_id.is_empty();
        let live = if is_held { State::Held } else { State::Sold };
        let is_last = row.seen.last_release() == Some(event.id);
        row.known.state = match event.kind {
            _ if is_live => live,
            Kind::Confirmed if is_note && row.seen.last_release().is_none() => State::Sold,
            Kind::Released { reason, .. } if row.known.state.is_live() || is_last => {
                State::Released(reason)
            }
            _ => row.known.state,
        };
        if !row.known.state.is_live() {
            row.sole = Sole::No;
        }
        let was_sold = row.deadline_ms.is_none() || !row.confirmed_id.is_empty();
        row.known.was_sold = Some(was_sold);
    }
}

impl Row {
    /// The row is a note of a rejection, and this order came after it: the rejected order's entry
    /// will not be read, since a rejection acknowledges it, and the id is sold again.
    fn is_rejected_before(&self, order: &Event) -> bool {
        let is_rejected = self.known.state == State::Released(Reason::Rejected);
        let release = self.seen.last_release();
        self.is_note() && is_rejected && release.is_some_and(|release| release.ms < order.id.ms)
    }
}

impl Event {
    /// The outcome of an event that is in its row, or concerns no row.
    fn done(&self) -> Outcome {
        match self.kind {
            Kind::Order { .. } => Outcome::Inserted,
            Kind::Confirmed | Kind::Payment(_) => Outcome::Confirmed,
            Kind::Released { .. } => Outcome::Released,
            Kind::Look | Kind::Lost => Outcome::Looked,
        }
    }
}

fn record(event: &Event, from: Option<State>, to: &str, said: &str) -> Record {
    Record {
        key: event.key.clone(),
        entry: event.place(),
        from: word(from),
        to: to.to_owned(),
        units: event.units,
        reference: event.reference.clone(),
        said: said.to_owned(),
    }
}

/// What contradicts a row, in words.
fn said(event: &Event, book: &Book<String>) -> String {
    match book {
        Book::Over => {
            let word = event.known().map_or("", |known| known.state.word());
            format!("{word}, by the entry {}", event.place())
        }
        book => book.words(),
    }
}
