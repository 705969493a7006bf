//! What a check asks about payments that paid no order.

use crate::account::Account;
use crate::payments::Outcome;
use crate::references::Others;
use crate::server_state::Server;

/// What is asked about a payment that paid no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PaymentQuestion {
    /// It waits for its order: refund it, or it was refunded.
    Unmatched,
    /// It is to be refunded, and the server has no such record, or another one: it could yet pay
    /// an order.
    Unrecorded,
}

/// Whether a payment row that paid no order is a question.
pub fn payment_question<R: Ord + Clone, I: Copy + Eq>(
    account: &Account<R, I>,
    server: &Server<R>,
    reference: &R,
    others: impl FnOnce(&R) -> Others,
) -> Option<PaymentQuestion> {
    let payment = account.payments.get(reference).filter(|it| !it.pays && !it.is_nothing)?;
    let record = server.records.get(reference).filter(|record| record.is_its);
    let outcome = record.map(|record| record.outcome);
    if !payment.is_in_use() {
        let is_open = match server.records.get(reference).map(|it| (it.outcome, it.is_its)) {
            // The order itself is the question, or another order that has it.
            Some((Outcome::First | Outcome::Released, _)) => false,
            Some((Outcome::Late | Outcome::Duplicate, false)) => false,
            Some((Outcome::Unmatched, true)) => true,
            _ => payment.is_unmatched,
        };
        return (is_open && !others(reference).have_it).then_some(PaymentQuestion::Unmatched);
    }
    let is_recorded = match outcome {
        Some(Outcome::Late) => payment.is_late,
        Some(Outcome::Duplicate) => payment.is_duplicate,
        Some(Outcome::Unmatched) => false,
        // The order itself is the question.
        Some(Outcome::First | Outcome::Released) => true,
        None => server.is_over || server.records.get(reference).is_some(),
    };
    (!is_recorded).then_some(PaymentQuestion::Unrecorded)
}
