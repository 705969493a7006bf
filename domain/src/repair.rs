//! A check's repair of an order by itself: the book's words are joined like entries, if that leaves
//! no conflict. Nothing is guessed.

use crate::account::Account;
use crate::payments::Outcome;
use crate::references::Others;
use crate::resolve::{Booked, Record, Server};
use crate::rows::{Paid, Phase, Release, Report, Times};
use crate::unit_set::UnitSet;
use std::collections::BTreeMap;

/// Joins what the server says of an order and its payments. `is_held`: its sale holds orders until
/// they are paid. Rows with a conflict or a ruling are left as they are; false if nothing changes.
pub fn repair<R: Ord + Clone, I: Copy + Eq>(
    account: &mut Account<R, I>,
    server: &Server<R>,
    is_held: bool,
    others: impl Fn(&R) -> Others,
) -> bool {
    if server.is_over || account.ruling.is_some() || !account.conflicts(&others).is_none() {
        return false;
    }
    let before = account.clone();
    if let Some(order) = &server.order {
        let mut next = account.clone();
        for report in words(&next, order, &server.records, is_held) {
            next.join(None, &report);
        }
        if next.conflicts(&others).is_none() {
            *account = next;
        }
    }
    for (reference, record) in server.records.iter().filter(|(_, record)| record.is_its) {
        if !matches!(record.outcome, Outcome::Late | Outcome::Duplicate | Outcome::Unmatched) {
            continue;
        }
        let payment = Paid { reference: reference.clone(), units: record.units };
        let report = Report::Payment { outcome: record.outcome, payment, units: 0 };
        let mut next = account.clone();
        next.join(None, &report);
        if next.conflicts(&others).is_none() {
            *account = next;
        }
    }
    *account != before
}

/// What the book says of an order's payment, as the entries of its confirmation and of releases
/// with REFUNDED would.
pub(crate) fn payment_words<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
) -> Vec<Report<R>> {
    let order = server.order.as_ref().filter(|order| order.reference.is_some());
    let words = order.map(|order| words(account, order, &server.records, true));
    let is_its = |report: &Report<R>| match report {
        Report::Confirmed { .. } => true,
        Report::Released(release) => release.is_refunded,
        Report::Accepted { .. } | Report::Payment { .. } => false,
    };
    words.unwrap_or_default().into_iter().filter(is_its).collect()
}

/// The book's words of an order, as entries would say them.
fn words<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    order: &Booked<R>,
    records: &BTreeMap<R, Record>,
    is_held: bool,
) -> Vec<Report<R>> {
    let mut words = Vec::new();
    let is_sold = matches!(order.phase, Phase::Sold | Phase::ReleasedSold);
    let kept = if matches!(order.phase, Phase::Held | Phase::Sold) { order.units } else { 0 };
    let held_to = account.row.held_to.unwrap_or(i64::MAX);
    let sold = match order.paid {
        Some(paid) => paid.min(order.asked).min(held_to).max(order.units),
        None if order.asked == order.units => order.units,
        // It was reduced, and nobody tells whether before or after it was paid.
        None if is_sold && account.row.sold == 0 => return words,
        None => account.row.sold.max(order.units),
    };
    if account.row.accepted == Times::Never {
        words.push(Report::Accepted { units: order.asked, is_held });
    }
    let released = |from: i64, to: i64, was_sold, is_refunded| {
        Report::Released(Release {
            units: from.saturating_sub(to),
            kept: to,
            was_sold,
            reference: order.reference.clone().filter(|_| was_sold),
            is_refunded,
            is_norestock: false,
        })
    };
    if !is_sold {
        words.extend((kept < order.asked).then(|| released(order.asked, kept, false, false)));
        return words;
    }
    let payment = order.reference.as_ref().map(|reference| {
        let record = records.get(reference).filter(|record| record.is_its);
        Paid { reference: reference.clone(), units: record.and_then(|record| record.units) }
    });
    if is_held || payment.is_some() {
        words.push(Report::Confirmed { units: sold, payment });
    }
    if sold < order.asked && is_held {
        words.push(released(order.asked, sold, false, false));
    }
    let gone = UnitSet::between(kept.saturating_add(1), sold);
    let (refunded, due) = (gone.common(&order.refunded), gone.without(&order.refunded));
    for (units, is_refunded) in [(refunded, true), (due, false)] {
        let range =
            |(first, last): (i64, i64)| released(last, first.saturating_sub(1), true, is_refunded);
        words.extend(units.ranges().map(range));
    }
    words
}
