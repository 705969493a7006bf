//! What is asked about one order and its payments.

use std::borrow::Cow;
use std::ptr;

use domain::account::Unclear;
use domain::resolve::{Answer, Question as Asked, plan, question};
use domain::rows::Phase;
use domain::server_state::Record;
use domain::unmatched::{PaymentQuestion, payment_question};

use super::questions::{
    Comparison, Findings, QuestionKind, Repair, ResultKind, said_by_row, said_by_server,
};
use crate::accounts::{Accounts, Order};
use crate::order_events::OrderKey;

/// An order of a look, with what the server says.
pub(super) struct Compared<'k> {
    pub key: Cow<'k, OrderKey>,
    /// What was read, and the order in it.
    pub read: (&'k Accounts, Option<&'k Order>),
    pub repair: Repair,
}

impl Compared<'_> {
    /// The order as it is now. As long as nothing is changed, it is looked up nowhere.
    pub fn order<'a>(&'a self, accounts: &'a Accounts) -> Option<&'a Order> {
        let (read, order) = self.read;
        if ptr::eq(read, accounts) { order } else { accounts.get(&self.key) }
    }
}

/// What is asked about an order and its payments. What is counted is what the database has, not
/// what it will have once all is repaired.
pub fn ask(accounts: &Accounts, one: &Compared<'_>, found: &mut Findings) {
    let (key, server) = (one.key.as_ref(), &one.repair.server);
    let booked = server.order.as_ref();
    let live = booked.filter(|it| matches!(it.phase, Phase::Held | Phase::Sold));
    count(&mut found.totals, 0, live.map(|it| (it.phase == Phase::Held, it.units)));
    let (read, of_row) = one.read;
    let of_row = of_row.map(|order| order.account.target(read.conflicts_of(key, order)));
    let of_row = of_row.filter(|(_, units)| *units > 0);
    count(&mut found.totals, 1, of_row.map(|(phase, units)| (phase == Phase::Held, units)));
    let Some(order) = one.order(accounts) else {
        if booked.is_some() {
            found.ask((QuestionKind::Order, key, ""), ["missing", &said_by_server(server)], &[]);
        }
        return;
    };
    let conflicts = accounts.conflicts_of(key, order);
    let others = |reference: &String| accounts.others(key, reference);
    let asked = question(&order.account, server, others);
    let ruling = order.account.standing(conflicts);
    found.totals.ruled += usize::from(ruling.is_some());
    // What is not clear of its payments is asked first.
    let unclear = order.account.unclear(others).map(|(_, unclear)| unclear);
    if asked.is_asked() && unclear.is_none() {
        let rows = format!("{}{}", said_by_row(order, conflicts), whys(&asked));
        let answers = answers(accounts, one, order, &asked);
        found.ask((QuestionKind::Order, key, ""), [&rows, &said_by_server(server)], &answers);
    }
    if let Some(ruling) = ruling.filter(|it| it.is_without_units && !server.is_over) {
        let sold = live.filter(|it| it.phase == Phase::Sold).map_or(0, |it| it.units);
        let lacks = ruling.kept.saturating_sub(sold.saturating_add(server.outside));
        if lacks > 0 {
            let about = (ResultKind::Oversold, key.clone(), String::new());
            found.results.insert(about, Some(lacks));
        }
    }
    for (reference, payment) in order.account.payments.iter() {
        found.totals.unsaid += usize::from(payment.stated.units().is_none());
        if !payment.lines.is_empty() {
            let about = (ResultKind::Refund, key.clone(), reference.clone());
            let units = payment.lines.count();
            found.results.insert(about, Some(units).filter(|units| *units != i64::MAX));
        }
        if unclear == Some(Unclear::Units) && payment.has_unclear_units() {
            let units = (payment.stated.units(), order.account.row.asked);
            ask_units((key, reference), units, server.records.get(reference), found);
            continue;
        }
        let Some(asked) = payment_question(&order.account, server, reference, others) else {
            continue;
        };
        let (kind, rows) = match asked {
            PaymentQuestion::Unmatched => (QuestionKind::Unmatched, "it waits for its order"),
            PaymentQuestion::Unrecorded => (QuestionKind::Payment, "it is to be refunded"),
        };
        let record = server.records.get(reference).map(|record| record.outcome.word());
        let server = record.unwrap_or("not on record");
        found.ask((kind, key, reference), [rows, server], &["refund", "refunded"]);
    }
}

/// Asks for how many units a payment is: no entry tells, or not all tell the same.
fn ask_units(
    (key, reference): (&OrderKey, &String),
    (stated, asked): (Option<i64>, i64),
    record: Option<&Record>,
    found: &mut Findings,
) {
    let rows = match stated {
        Some(_) => "it was said to be of several numbers of units",
        None => "its units are not known, beside other parts of its cart",
    };
    let (units, of) = match (record.and_then(|record| record.units), stated) {
        (Some(units), _) => (units, "on the server's record"),
        (None, Some(units)) => (units, "at most"),
        (None, None) if asked > 0 => (asked, "of the order"),
        (None, None) => (1, "at least: the provider knows"),
    };
    let (server, answer) = (format!("{units} units {of}"), format!("units {units}"));
    found.ask((QuestionKind::Units, key, reference), [rows, &server], &[&answer]);
}

fn count(totals: &mut Comparison, side: usize, live: Option<(bool, i64)>) {
    let Some((is_held, units)) = live else { return };
    totals.orders[side] += 1;
    let sum = if is_held { &mut totals.held[side] } else { &mut totals.sold[side] };
    *sum = sum.saturating_add(units);
}

/// The answers that there are to a question about an order.
fn answers(
    accounts: &Accounts,
    one: &Compared<'_>,
    order: &Order,
    asked: &Asked,
) -> Vec<&'static str> {
    let others = |reference: &String| accounts.others(&one.key, reference);
    let kept = plan(&order.account, &one.repair.server, Answer::Keep(None), others).ruling.kept;
    let payments = || order.account.payments.values().filter(|payment| payment.pays);
    let has_all_lines = payments().all(|payment| payment.all().without(&payment.lines).is_empty());
    let mut answers = Vec::new();
    answers.extend((kept > 0).then_some("keep"));
    answers.push("release");
    if payments().next().is_some() && (!has_all_lines || asked.is_open) {
        answers.push("refunded");
    }
    answers
}

/// Why it is asked, in a few words.
fn whys(asked: &Asked) -> String {
    let whys = [
        (!asked.conflicts.is_none(), format!("conflict {}", asked.conflicts.letters())),
        (asked.is_outside, "units are off the sale for it".to_owned()),
        (asked.is_restored, "the shop's tables lack units of it".to_owned()),
        (asked.is_open, "units of its payment are neither kept nor refunded".to_owned()),
        (asked.is_kept_twice, "units are kept that are refunded".to_owned()),
        (asked.has_other_record, "its payment is on record otherwise".to_owned()),
    ];
    let whys = whys.into_iter().filter(|(is_so, _)| *is_so).map(|(_, why)| format!("; {why}"));
    whys.collect()
}
