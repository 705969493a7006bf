//! Compares the payments on the server's record, and the lines of the refunds, with the rows.

use super::{Doubt, Judgement, Kind, Line, Row, Sale, Server, Use, sum};
use crate::book::State;
use crate::payments::Outcome;
use std::collections::BTreeMap;

/// The word of a line by which a person has said that a kept order is not refunded.
pub const NOT_REFUNDED: &str = "not refunded";

pub fn judge(sale: &Sale<'_>, found: &mut Judgement) {
    let mut lines: BTreeMap<&str, Vec<&Line<'_>>> = BTreeMap::new();
    for line in &sale.lines {
        lines.entry(line.order).or_default().push(line);
    }
    let of = |order: &str| lines.get(order).map_or(&[][..], Vec::as_slice);
    for payment in &sale.payments {
        match payment.use_ {
            Use::None => {}
            Use::Itself => continue,
            Use::Other(order) => {
                let server = format!("payment {} names it", payment.reference);
                let its = format!("the payment of order {order}");
                found.findings.insert(sale.finding(payment.order, "", server, its, Kind::Shared));
                continue;
            }
        }
        let row = sale.rows.get(payment.order);
        let is_its =
            row.is_some_and(|row| row.fact.known.reference.as_deref() == Some(payment.reference));
        let has_line = |word: &str| {
            let mut its = of(payment.order).iter();
            its.any(|line| line.reference == payment.reference && line.to == word)
        };
        let is_kept = match payment.outcome {
            // A person has settled that the order has another payment.
            Outcome::First | Outcome::Released => is_its || has_line(Outcome::Second.word()),
            Outcome::Late | Outcome::Second => has_line(payment.outcome.word()),
            Outcome::Unknown => is_its || has_line(Outcome::Late.word()) || has_line("unknown"),
        };
        if !is_kept {
            let user = row.map_or("", |row| row.fact.user);
            let server = format!("payment {} is {}", payment.reference, payment.outcome.word());
            let finding =
                sale.finding(payment.order, user, server, "missing".to_owned(), Kind::Money);
            found.findings.insert(finding);
        } else if payment.outcome == Outcome::Unknown && !is_its {
            let [voucher, reference, order] =
                [sale.voucher, payment.reference, payment.order].map(str::to_owned);
            found.doubts.insert(Doubt::Unknown { voucher, reference, order });
        }
    }
    // Orders of a voucher without a book may be sold again under their ids.
    if sale.sale.is_empty() {
        return;
    }
    for (order, row) in &sale.rows {
        refunds(sale, order, row, of(order), found);
    }
}

/// The refund lines of an order that was paid: none while it is kept, and its units when it is not.
fn refunds(
    sale: &Sale<'_>,
    order: &str,
    row: &Row<'_>,
    lines: &[&Line<'_>],
    found: &mut Judgement,
) {
    let Some(reference) = &row.fact.known.reference else { return };
    let mut tell = |server: String, its: String| {
        let finding = sale.finding(order, row.fact.user, server, its, Kind::Refund);
        found.findings.insert(finding);
    };
    let is_release =
        |line: &&&Line<'_>| matches!(State::parse(line.to.as_bytes()), Some(State::Released(_)));
    let its = lines.iter().filter(is_release);
    let refunded =
        sum(its.clone().filter(|line| line.reference == *reference).map(|line| line.units));
    let units = row.fact.known.units;
    if row.is_live() {
        let is_again = |line: &&Line<'_>| line.to == NOT_REFUNDED;
        let gives_back = |line: &&Line<'_>| {
            let again = [Outcome::Late, Outcome::Second].map(Outcome::word);
            line.reference == *reference && again.contains(&line.to)
        };
        if (refunded > 0 || lines.iter().any(gives_back)) && !lines.iter().any(is_again) {
            let its = format!("{}, and a line refunds {reference}", row.fact.known.state.word());
            tell("goods and money".to_owned(), its);
        }
    } else if refunded != units && !matches!(sale.server, Server::Older) {
        let word = row.fact.known.state.word();
        tell(format!("{word}, {units} units paid by {reference}"), {
            format!("lines refund {refunded} units")
        });
    }
}
