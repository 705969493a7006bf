//! Compares the payments on the server's record, and the lines of the refunds, with the rows.

use super::{Doubt, Finding, Judgement, Kind, Line, Row, Sale, Server, Use, sum};
use crate::book::State;
use crate::payments::Outcome;
use crate::projection::Known;
use std::collections::BTreeMap;

/// The word of a line by which a person has said that a payment was not refunded, though lines that
/// are more than was due give it back.
pub const NOT_REFUNDED: &str = "not refunded";

/// The word of a line by which a person has said that the payment which names an order is another
/// order's too: nothing is due of it here.
pub const SHARED: &str = "shared";

/// The word of a line about a late or second payment that is another order's too, in its row or on
/// a line that refunds it: nothing is refunded here until a person says whose it is.
pub const CLAIMED: &str = "claimed";

/// The words of lines about units that were refunded elsewhere: all that an order had at last, and
/// a part. Nothing is refunded by them.
pub const ELSEWHERE: &str = "refunded";
pub const ELSEWHERE_PART: &str = "refunded part";

/// Whether the lines of an order refund what is due of its payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Money {
    Fits,
    /// The order is kept, and a line gives its payment back.
    GoodsAndMoney,
    /// Lines refund more than was paid.
    Twice,
    /// No line refunds so many units of a release.
    Owed(i64),
}

/// What lines refund of a payment of one order, or say to be refunded elsewhere.
struct Refunds {
    /// Units that were released with the order, and those before.
    released: i64,
    reduced: i64,
    /// A server that had lost the order called the payment late or second: all of it is refunded.
    is_whole: bool,
    /// A person has said that it was not.
    is_denied: bool,
    /// A person has said that it is another order's.
    is_shared: bool,
}

impl Refunds {
    fn of(reference: &str, lines: &[Line<'_>]) -> Self {
        let its = || lines.iter().filter(|line| line.reference == reference);
        let units = |is_its: fn(&str) -> bool| {
            sum(its().filter(|line| is_its(line.to)).map(|line| line.units))
        };
        let whole = [Outcome::Late, Outcome::Second].map(Outcome::word);
        Self {
            released: units(|to| {
                let state = State::parse(to.as_bytes());
                to == ELSEWHERE || state.is_some_and(State::is_released)
            }),
            reduced: units(|to| ["reduced", ELSEWHERE_PART].contains(&to)),
            is_whole: its().any(|line| whole.contains(&line.to)),
            is_denied: lines.iter().any(|line| line.to == NOT_REFUNDED),
            is_shared: its().any(|line| line.to == SHARED),
        }
    }

    fn give_back(&self) -> bool {
        !self.is_denied && !self.is_shared && (self.is_whole || self.released > 0)
    }
}

/// Units of the payment of an order that lines refund, or that are due.
pub fn refunded(known: &Known<String>, lines: &[Line<'_>]) -> i64 {
    let reference = known.reference.as_deref().unwrap_or_default();
    let Refunds { released, reduced, .. } = Refunds::of(reference, lines);
    let owed = match money(known, lines) {
        Money::Owed(units) => units,
        _ => 0,
    };
    released.saturating_add(reduced).saturating_add(owed)
}

/// How many units of a payment that is for so many are neither kept nor on lines, nor due by a
/// release. A payment that is another order's too waits for a person.
pub fn beyond(known: &Known<String>, lines: &[Line<'_>], paid: Option<i64>) -> i64 {
    let (Some(reference), Some(paid)) = (&known.reference, paid) else { return 0 };
    let refunds = Refunds::of(reference, lines);
    if refunds.is_shared || refunds.is_whole || refunds.is_denied {
        return 0;
    }
    let kept = if known.state.is_live() { known.units } else { 0 };
    paid.saturating_sub(kept).saturating_sub(refunded(known, lines))
}

/// Do the lines of an order give this payment back as a whole?
pub fn is_given_back(reference: &str, lines: &[Line<'_>]) -> bool {
    Refunds::of(reference, lines).give_back()
}

/// Can a person say of an order that the lines about its payment are more than was refunded?
pub fn is_deniable(known: &Known<String>, lines: &[Line<'_>]) -> bool {
    known.reference.as_ref().is_some_and(|reference| {
        let refunds = Refunds::of(reference, lines);
        let is_more = known.state.is_live() || refunds.released > known.units;
        !refunds.is_denied && (refunds.is_whole || is_more && refunds.released > 0)
    })
}

/// Compares the refund lines of an order with what is due: nothing while it is kept, but for what
/// was reduced, and its units when it is not.
pub fn money(known: &Known<String>, lines: &[Line<'_>]) -> Money {
    let Some(reference) = &known.reference else { return Money::Fits };
    let refunds = Refunds::of(reference, lines);
    let owed = known.units.saturating_sub(refunds.released);
    match refunds {
        _ if refunds.is_shared => Money::Fits,
        _ if known.state.is_live() && refunds.give_back() => Money::GoodsAndMoney,
        _ if known.state.is_live() => Money::Fits,
        Refunds { is_denied: false, is_whole: true, released: 0, reduced: 0, .. } => Money::Fits,
        Refunds { is_denied: false, is_whole: true, .. } => Money::Twice,
        _ if owed > 0 => Money::Owed(owed),
        Refunds { is_denied: false, .. } if owed < 0 => Money::Twice,
        _ => Money::Fits,
    }
}

fn claimed(sale: &Sale<'_>, order: &str, reference: &str, other: &str) -> Finding {
    let server = format!("payment {reference} names it");
    let its = format!("the payment of {other}");
    let finding = sale.finding(order, "", server, its, Kind::Claimed);
    Finding { reference: reference.to_owned(), ..finding }
}

pub fn judge(sale: &Sale<'_>, found: &mut Judgement) {
    let mut lines: BTreeMap<&str, Vec<Line<'_>>> = BTreeMap::new();
    for line in &sale.lines {
        lines.entry(line.order).or_default().push(*line);
    }
    let of = |order: &str| lines.get(order).map_or(&[][..], Vec::as_slice);
    for line in sale.lines.iter().filter(|line| line.to == CLAIMED) {
        let answers = [SHARED, Outcome::Late.word(), Outcome::Second.word()];
        let mut its = of(line.order).iter().filter(|other| other.reference == line.reference);
        if !its.any(|other| answers.contains(&other.to)) {
            found.findings.insert(claimed(sale, line.order, line.reference, "another order"));
        }
    }
    for payment in &sale.payments {
        let has_line = |word: &str| {
            let mut its = of(payment.order).iter();
            its.any(|line| line.reference == payment.reference && line.to == word)
        };
        match payment.use_ {
            Use::None => {}
            Use::Other(_) if has_line(SHARED) => continue,
            Use::Itself => continue,
            Use::Other(order) => {
                let other = format!("order {order}");
                found.findings.insert(claimed(sale, payment.order, payment.reference, &other));
                continue;
            }
        }
        let row = sale.rows.get(payment.order);
        let is_its =
            row.is_some_and(|row| row.fact.known.reference.as_deref() == Some(payment.reference));
        let is_kept = match payment.outcome {
            // A person has settled that the order has another payment.
            Outcome::First | Outcome::Released => is_its || has_line(Outcome::Second.word()),
            // The lines of a release refund its payment, whatever a server said of it later.
            Outcome::Late | Outcome::Second => {
                let reference = payment.reference.to_owned();
                has_line(payment.outcome.word())
                    || has_line(CLAIMED)
                    || row.is_some_and(|row| row.fact.known.refunds(Some(&reference)))
            }
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

fn refunds(sale: &Sale<'_>, order: &str, row: &Row<'_>, lines: &[Line<'_>], found: &mut Judgement) {
    let known = row.fact.known;
    let reference = known.reference.as_deref().unwrap_or_default();
    let is_others = !known.state.is_live() && Refunds::of(reference, lines).is_shared;
    if row.is_untold && !reference.is_empty() && !is_others {
        let [voucher, sale_id] = [sale.voucher, sale.sale].map(str::to_owned);
        let [order, reference] = [order, reference].map(str::to_owned);
        let units = row.live_units().saturating_add(refunded(known, lines));
        found.doubts.insert(Doubt::Untold { voucher, sale: sale_id, order, reference, units });
    }
    let word = known.state.word();
    let paid = format!("{word}, {} units paid by {reference}", known.units);
    let on_server = match &sale.server {
        Server::On(live) => live.orders.get(order).zip(live.paid.get(order)),
        Server::Older | Server::Over => None,
    };
    let on_server = on_server.filter(|(fact, _)| fact.known.reference == known.reference);
    let beyond = beyond(known, lines, on_server.map(|(_, paid)| *paid));
    let (kind, server, its) = match money(known, lines) {
        Money::Fits if beyond > 0 => (
            Kind::Owed,
            paid,
            format!("no line refunds {beyond} units that were paid beyond these"),
        ),
        Money::Fits => return,
        Money::Owed(_) if matches!(sale.server, Server::Older) => return,
        Money::GoodsAndMoney => {
            let its = format!("{word}, and a line refunds {reference}");
            (Kind::GoodsAndMoney, "goods and money".to_owned(), its)
        }
        Money::Twice => (Kind::Twice, paid, "lines refund more".to_owned()),
        Money::Owed(units) => (Kind::Owed, paid, format!("no line refunds {units} units")),
    };
    found.findings.insert(sale.finding(order, row.fact.user, server, its, kind));
}
