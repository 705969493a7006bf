//! What settling prints of a row and of the server.

use domain::projection::Book;
use seckill_tools::sanitize::sanitize;

use crate::batch::{Answer, Row};

/// The command that confirms the order of a row on the server once more.
pub fn confirmation(row: &Row) -> String {
    let order = format!("SECKILL.CONFIRM {} {} {}", row.key.voucher, row.user, row.key.order);
    match &row.known.reference {
        Some(reference) => format!("{order} REF {reference} SALE {}", row.key.sale),
        None => format!("{order} SALE {}", row.key.sale),
    }
}

/// What the server says, in the words of a dispute.
pub fn words(answer: &Answer) -> String {
    match answer {
        Answer::Has(fact) => Book::Has(fact.known.clone()).words(),
        Answer::Waits(_) => Book::<String>::Lacks.words(),
        Answer::Without(book) => book.words(),
        Answer::Unreadable(why) => why.clone(),
    }
}

/// A row, and what the server said of it.
pub fn described(row: &Row) -> String {
    let Row { key, user, known, disputed, .. } = row;
    let said = if disputed.is_empty() { "nothing that contradicts it" } else { disputed };
    let reference = known.reference.as_deref().unwrap_or("none");
    sanitize(&format!(
        "order {} of {user} for voucher {}, sale {}: the row is {}, units {}, ref {reference}; the \
         server said: {said}",
        key.order,
        key.voucher,
        key.sale,
        known.state.word(),
        known.units
    ))
}
