//! Judges three books of a voucher: what the server says, the rows, and what is on record of
//! payments. The words of a verdict claim no more than was looked at.
//!
//! A difference between books is a finding, by order. What could not be looked at is a doubt, by
//! name. Without either the books are proved to agree.

mod orders;
mod payments;
mod words;

pub use self::payments::{CLAIMED, ELSEWHERE, ELSEWHERE_PART, Money, NOT_REFUNDED, SHARED};
pub use self::payments::{beyond, is_deniable, is_given_back, money, refunded};
use crate::payments::Outcome;
use crate::projection::Known;
use std::collections::{BTreeMap, BTreeSet};

/// What the comparison of the books has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Everything was looked at, and agrees.
    Proved,
    /// So it does, and there is nothing but units that are left.
    NothingSold,
    /// At least one thing differs.
    Different,
    /// Nothing differs, but something could not be looked at.
    Unproved,
}

impl Verdict {
    /// The exit code of a program.
    pub fn code(self) -> u8 {
        match self {
            Self::Proved | Self::NothingSold => 0,
            Self::Different => 1,
            Self::Unproved => 3,
        }
    }
}

/// An order in one of the books.
#[derive(Clone, Copy, Debug)]
pub struct Fact<'b> {
    pub user: &'b str,
    pub known: &'b Known<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Row<'b> {
    pub fact: Fact<'b>,
    /// It is no order yet: its release or confirmation was read first.
    pub is_note: bool,
    /// What the server said that contradicted the row; empty if nothing did.
    pub disputed: &'b str,
    /// Whether a person has settled that.
    pub is_settled: bool,
    /// Units of it were released, and nobody has told whether these were paid.
    pub is_untold: bool,
}

impl Row<'_> {
    fn is_live(&self) -> bool {
        self.fact.known.state.is_live()
    }

    fn live_units(&self) -> i64 {
        if self.is_live() { self.fact.known.units } else { 0 }
    }
}

/// A line of the table of changes that is about money.
#[derive(Clone, Copy, Debug)]
pub struct Line<'b> {
    pub order: &'b str,
    /// What the order, or its payment, became.
    pub to: &'b str,
    pub units: i64,
    /// Empty without a reference.
    pub reference: &'b str,
}

/// A payment on the server's record.
#[derive(Clone, Copy, Debug)]
pub struct Payment<'b> {
    pub reference: &'b str,
    pub outcome: Outcome,
    pub order: &'b str,
    pub use_: Use<'b>,
}

/// What the rows of other sales, and of other vouchers, have of a payment. Money counts once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use<'b> {
    None,
    /// It is the payment of the order that it names, in an earlier sale, or was refunded there.
    Itself,
    /// It is that of another order, with this id.
    Other(&'b str),
}

/// A sale that is on, as the server has it.
#[derive(Clone, Debug, Default)]
pub struct Live<'b> {
    pub is_managed: bool,
    /// By order id: those of the book, without those in line; of an unmanaged voucher those whose
    /// entries are still in the streams.
    pub orders: BTreeMap<&'b str, Fact<'b>>,
    /// The buyers of an unmanaged voucher.
    pub users: BTreeSet<&'b str>,
    /// None if the server doesn't know it.
    pub total: Option<i64>,
    pub left: i64,
    pub limit: i64,
    pub buyers: i64,
    /// How many units the payments of orders are for, if that was said.
    pub paid: BTreeMap<&'b str, i64>,
    /// Units that a person took off the sale for orders that the rows keep.
    pub outside: BTreeMap<&'b str, i64>,
    /// Orders that another consumer of the group had acknowledged before the rows began.
    pub elsewhere: BTreeSet<&'b str>,
    /// False if units were sold or released while the book was read.
    pub is_steady: bool,
}

/// What the server says of a sale.
#[derive(Clone, Debug)]
pub enum Server<'b> {
    On(Live<'b>),
    /// Its sale of the voucher is an earlier one: it has lost this one.
    Older,
    /// The sale was dropped, or lost: it has no book.
    Over,
}

/// A sale of a voucher, with all that was read of it.
#[derive(Clone, Debug)]
pub struct Sale<'b> {
    pub voucher: &'b str,
    /// Empty if the server has no sale id.
    pub sale: &'b str,
    pub server: Server<'b>,
    pub rows: BTreeMap<&'b str, Row<'b>>,
    /// The units sold in the table of sums.
    pub sum: i64,
    pub lines: Vec<Line<'b>>,
    pub payments: Vec<Payment<'b>>,
    /// A check has closed the sale when it was proved, and its rows are as they were then.
    pub is_closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// It is live but has no row.
    Missing,
    /// The server says more than its row.
    Behind,
    /// A person must look at it.
    Contradicts,
    /// A held order that the server has lost: nobody can pay it.
    Unheld,
    /// A payment on the server's record is not in the rows.
    Money,
    /// An order is kept, and a line gives its payment back.
    GoodsAndMoney,
    /// Lines refund more than was paid for an order.
    Twice,
    /// An order that was paid is released, and no line refunds all of its units.
    Owed,
    /// One payment is that of two orders.
    Shared,
    /// A payment names an order, and is that of another one in the rows.
    Claimed,
    /// A person has kept an order whose units are on sale again.
    Oversold,
    /// So many units are off the sale for an order that is over.
    Outside(i64),
}

/// Something that differs, of one order.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub voucher: String,
    pub sale: String,
    /// Empty if only the user is known.
    pub order: String,
    pub user: String,
    /// What the server says, and what the rows say.
    pub server: String,
    pub row: String,
    /// The payment that it is about, or empty.
    pub reference: String,
    pub kind: Kind,
}

/// Something that could not be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doubt {
    /// The mark of the server is not that of the rows, or one of them has none.
    Mark(String),
    /// Rows of a sale whose book the server does not have.
    NoBook { voucher: String, sale: String, orders: usize },
    /// Entries that the group has not read, or not acknowledged.
    Unread { voucher: String, entries: usize },
    /// Entries that were deleted before they became rows, by their first.
    Lost { stream: String, entry: String, cause: String },
    /// A row that a person must settle, though the server agrees again.
    Healed { voucher: String, order: String },
    /// A payment of which nobody knows the order.
    Unknown { voucher: String, reference: String, order: String },
    /// An order of which units were released, and nobody has told whether these were paid.
    Untold { voucher: String, sale: String, order: String, reference: String, units: i64 },
    /// Orders that another consumer had acknowledged before the rows began.
    Elsewhere { voucher: String, orders: usize },
    /// Units were sold or released while the book was read.
    Changing { voucher: String },
    /// The shop's statements were not run for some rows.
    WithoutStatements { voucher: String, sale: String },
}

/// A line of the table of totals: its name, the number on the server, the number in the rows.
pub type Total = (&'static str, i64, i64);

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    pub findings: BTreeSet<Finding>,
    pub totals: Vec<Total>,
    pub doubts: BTreeSet<Doubt>,
    /// Rows that wait for a person, and rows that a person has settled.
    pub disputed: i64,
    pub settled: i64,
    /// Users who have more than today's limit, as the server has sold it to them.
    pub above: i64,
    /// Orders, live or not, in any book.
    pub orders: usize,
}

impl Judgement {
    pub fn verdict(&self) -> Verdict {
        let agree = self.totals.iter().all(|(_, server, rows)| server == rows);
        if !agree || !self.findings.is_empty() {
            Verdict::Different
        } else if !self.doubts.is_empty() {
            Verdict::Unproved
        } else if self.orders == 0 {
            Verdict::NothingSold
        } else {
            Verdict::Proved
        }
    }

    /// What this judgement and an earlier one have both found: what is on its way is in one only.
    #[must_use]
    pub fn and(self, earlier: &Self) -> Self {
        let findings = self.findings.intersection(&earlier.findings).cloned().collect();
        Self { findings, ..self }
    }

    fn of(&self, name: &str) -> i64 {
        self.totals.iter().find(|total| total.0 == name).map_or(0, |total| total.2)
    }

    pub fn units_sold(&self) -> i64 {
        self.of("units sold")
    }

    pub fn orders_live(&self) -> i64 {
        self.of("orders")
    }
}

/// Sums of all sales, on the server and in the rows.
#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    units: (i64, i64),
    orders: (i64, i64),
    in_sums: (i64, i64),
    users: (i64, i64),
    beyond: i64,
    /// Of managed sales: the total, and left + held + sold.
    parts: Option<(i64, i64)>,
}

/// Judges all sales of some vouchers that the rows or the server know.
pub fn judge(sales: &[Sale<'_>]) -> Judgement {
    let (mut found, mut sums) = (Judgement::default(), Sums::default());
    for sale in sales {
        orders::judge(sale, &mut found, &mut sums);
        payments::judge(sale, &mut found);
    }
    found.totals = vec![
        ("units sold", sums.units.0, sums.units.1),
        ("orders", sums.orders.0, sums.orders.1),
        ("units in the sums", sums.in_sums.0, sums.in_sums.1),
        ("users who bought", sums.users.0, sums.users.1),
        ("users beyond the limit", 0, sums.beyond),
    ];
    if let Some((total, parts)) = sums.parts {
        found.totals.push(("left + held + sold", total, parts));
    }
    found
}

/// The number of some things.
fn count(of: impl Iterator) -> i64 {
    i64::try_from(of.count()).unwrap_or(i64::MAX)
}

/// The sum of some units.
fn sum(units: impl Iterator<Item = i64>) -> i64 {
    units.fold(0, i64::saturating_add)
}

#[cfg(test)]
mod tests;
