//! The rows of a voucher of which one order is sold, and the lines about its payment.

use domain::judge::Line;
use domain::projection::{Book, Known};

/// The units of each order, and the reference of the payment.
pub const UNITS: i64 = 2;
pub const REFERENCE: &str = "p";
pub const ORDER: &str = "0";
pub const USER: &str = "0";

/// The rows of one voucher: its order, and the lines about its payment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rows {
    pub row: Option<Known<u8>>,
    pub disputed: String,
    pub is_settled: bool,
    /// Nobody has told how many units were paid.
    pub is_untold: bool,
    pub lines: Vec<(&'static str, i64)>,
}

impl Rows {
    pub fn live(&self) -> i64 {
        self.row.as_ref().filter(|row| row.state.is_live()).map_or(0, |row| row.units)
    }

    pub fn is_paid(&self) -> bool {
        self.row.as_ref().is_some_and(|row| row.reference.is_some())
    }

    pub fn has(&self, word: &str) -> bool {
        self.lines.iter().any(|line| line.0 == word)
    }

    pub fn lines(&self) -> Vec<Line<'static>> {
        let line = |(to, units): &(&'static str, i64)| Line {
            order: ORDER,
            to,
            units: *units,
            reference: REFERENCE,
        };
        self.lines.iter().map(line).collect()
    }

    /// Units on lines that refund a part of the payment.
    pub fn refunded(&self) -> i64 {
        let parts = self.lines.iter().filter(|line| ["reduced", "cancelled"].contains(&line.0));
        parts.map(|line| line.1).sum()
    }

    pub fn is_whole(&self) -> bool {
        self.has("late") || self.has("second")
    }

    /// The lines of a change, with its figures. A release refunds nothing if the payment is another
    /// order's too.
    pub fn change(&mut self, next: Known<u8>, is_shared: bool) {
        if next.reference.is_some() {
            let reduced = UNITS - next.units - self.reduced();
            if reduced > 0 {
                self.lines.push(("reduced", reduced));
            }
            let is_counted = self.has("cancelled") || self.is_whole() || is_shared;
            if !next.state.is_live() && !is_counted {
                self.lines.push(("cancelled", next.units));
            }
        }
        self.row = Some(next);
    }

    pub fn reduced(&self) -> i64 {
        self.lines.iter().filter(|line| line.0 == "reduced").map(|line| line.1).sum()
    }
}

/// What is known, with the reference as the judge has it.
pub fn text(known: &Known<u8>) -> Known<String> {
    let Known { state, was_sold, units, reference } = known.clone();
    Known { state, was_sold, units, reference: reference.map(|_| REFERENCE.to_owned()) }
}

/// What the server says, in words.
pub fn said(book: &Book<u8>) -> String {
    match book {
        Book::Has(known) => Book::Has(text(known)).words(),
        Book::Lacks => Book::<String>::Lacks.words(),
        Book::Older => Book::<String>::Older.words(),
        Book::Over => Book::<String>::Over.words(),
    }
}
