//! The lines that are only appended: what entries said, and what is to be refunded.

use domain::payments::Outcome as Paid;
use domain::rows::{Report, Times};

use crate::accounts::{Order, RefundLine};
use crate::order_events::{Event, OrderKey, Which};
use crate::sql::Arg;

/// What an entry said of an order.
pub(super) struct ChangeLine<'e> {
    key: &'e OrderKey,
    entry: String,
    says: &'static str,
    units: i64,
    kept: Option<i64>,
    reference: Option<&'e str>,
    paid: Option<i64>,
    how: String,
}

/// The stream and the id of an entry.
pub(super) fn entry(event: &Event) -> String {
    let (which, id) = event.place;
    format!("{} {id}", which.word())
}

/// Does the row name this entry by itself? Those that accepted and confirmed it, unless there were
/// several.
pub(super) fn is_in_row(event: &Event, order: &Order) -> bool {
    let account = &order.account;
    let named = match (&event.report, &order.unmanaged) {
        (Report::Accepted { .. }, Some(known)) => {
            return known.accepted().next() == Some(&event.place.1);
        }
        (Report::Accepted { .. }, None) => account.row.accepted,
        (Report::Confirmed { payment: None, .. }, _) => account.row.confirmed,
        (Report::Confirmed { payment: Some(paid), .. }, _) => {
            account.payments.get(&paid.reference).map_or(Times::Never, |it| it.confirmed)
        }
        _ => Times::Never,
    };
    named == Times::Once(event.place.1)
}

impl<'e> ChangeLine<'e> {
    /// What a row has named by itself, and does so no more, since there was another entry like it.
    pub fn of_before(key: &'e OrderKey, before: &'e Order, now: &Order) -> Vec<Self> {
        let (old, new) = (&before.account, &now.account);
        let line = move |says, units, reference, paid| {
            let (kept, how) = (None, String::new());
            move |entry| Self { key, entry, says, units, kept, reference, paid, how }
        };
        let left = |which: Which, old, new| match old {
            Times::Once(id) if old != new => Some(format!("{} {id}", which.word())),
            _ => None,
        };
        let accepted = left(Which::Orders, old.row.accepted, new.row.accepted)
            .filter(|_| key.is_managed())
            .map(line("accepted", old.row.asked_least.unwrap_or(old.row.asked), None, None));
        let units = old.row.confirmed_least.unwrap_or(old.row.sold);
        let confirmed = left(Which::Confirmed, old.row.confirmed, new.row.confirmed);
        let confirmed = confirmed.map(line("confirmed", units, None, None));
        let paid = old.payments.iter().filter_map(move |(reference, payment)| {
            let is_now = new.payments.get(reference).map_or(Times::Never, |it| it.confirmed);
            let entry = left(Which::Confirmed, payment.confirmed, is_now)?;
            let paid = payment.stated.units();
            Some(line("confirmed", payment.had, Some(&**reference), paid)(entry))
        });
        accepted.into_iter().chain(confirmed).chain(paid).collect()
    }

    pub fn of(event: &'e Event) -> Self {
        let (says, units, kept, payment) = match &event.report {
            Report::Accepted { units, .. } => ("accepted", *units, None, None),
            Report::Confirmed { units, payment } => ("confirmed", *units, None, payment.as_ref()),
            Report::Payment { outcome, payment, units } => {
                let says = match outcome {
                    Paid::Late => "late",
                    Paid::Duplicate => "duplicate",
                    Paid::Unmatched => "unmatched",
                    Paid::First | Paid::Released => "released",
                };
                (says, *units, None, Some(payment))
            }
            Report::Released(it) if it.kept > 0 => ("reduced", it.units, Some(it.kept), None),
            Report::Released(it) => {
                (event.reason.map_or("cancelled", |why| why.word()), it.units, Some(0), None)
            }
        };
        let release = match &event.report {
            Report::Released(release) => Some(release),
            _ => None,
        };
        let how = [
            (release.is_some_and(|it| it.is_norestock), "norestock"),
            (release.is_some_and(|it| it.is_refunded), "refunded"),
        ];
        let how = how.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word);
        Self {
            key: &event.key,
            entry: entry(event),
            says,
            units,
            kept,
            reference: event.reference(),
            paid: payment.and_then(|payment| payment.units),
            how: how.collect::<Vec<_>>().join(" "),
        }
    }

    pub fn args(&self, now: i64) -> Vec<Arg<'_>> {
        let rest = [
            Arg::Text(&self.entry),
            Arg::Word(self.says),
            Arg::Int(self.units),
            Arg::MaybeInt(self.kept),
            Arg::MaybeText(self.reference),
            Arg::MaybeInt(self.paid),
            Arg::Text(&self.how),
            Arg::Int(now),
        ];
        self.key.args().into_iter().chain(rest).collect()
    }
}

pub(super) fn refund_args(line: &RefundLine, now: i64) -> Vec<Arg<'_>> {
    let units = line.last.checked_sub(line.first).and_then(|more| more.checked_add(1));
    let rest = [
        Arg::Int(line.first),
        Arg::Int(line.last),
        Arg::MaybeInt(units.filter(|_| line.last != i64::MAX)),
        Arg::Word(line.why),
        Arg::Int(now),
    ];
    [Arg::Text(&line.reference)].into_iter().chain(line.key.args()).chain(rest).collect()
}
