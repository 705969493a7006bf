//! What every confirmation must keep: each payment is recorded and announced once.

use crate::actions::{Action, Answer, Named};
use crate::extremes::{asked, plan, request, with_order};
use crate::properties::{Checked, Step, ensure};
use crate::world::{Error, NOW, World};
use domain::book::{Entry, State};
use domain::confirm::Confirmation;
use domain::facts::Refusal;
use domain::orders;
use domain::payments::{Outcome as Paid, Payment};
use domain::rules::SaleId;

impl Step<'_> {
    /// A payment is recorded and announced once, by the confirmation that brings it, and changes
    /// only when its order is released.
    pub fn check_payment(&self, reference: usize) -> Checked {
        let (before, after) = (self.before.payments[reference], self.after.payments[reference]);
        let paid = self.written.paid[reference];
        let has_reference = |entry: Option<Entry<u8>>| {
            entry.is_some_and(|it| it.reference.map(usize::from) == Some(reference))
        };
        let is_right = match (before, after) {
            (None, None) => paid == 0,
            (None, Some(after)) => {
                let is_named = matches!(self.action, Action::Confirm(named, given)
                    if given.map(usize::from) == Some(reference) && named.id == after.id);
                let is_first =
                    (after.outcome == Paid::First) == has_reference(self.after.entry(after.id));
                is_named && is_first && paid == 1
            }
            (Some(before), Some(after)) if before == after => paid == 0,
            (Some(before), Some(after)) => {
                let released = Payment { outcome: Paid::Released, ..before };
                let order = self.after.entry(before.id);
                let is_released = self.written.released[usize::from(before.id)] == 1
                    && has_reference(order)
                    && order.is_some_and(|it| it.was == Some(State::Sold));
                before.outcome == Paid::First && after == released && is_released && paid == 0
            }
            (Some(_), None) => false,
        };
        ensure(is_right, "a payment vanishes, or counts twice")
    }

    pub fn check_confirm(
        &self,
        named: &Named,
        reference: Option<u8>,
        answer: &Result<Answer, Error>,
    ) -> Checked {
        let paid = |world: &World| reference.and_then(|it| world.payments[usize::from(it)]);
        if let Some(known) = paid(self.before) {
            // Answered again, whatever has become of the order.
            let is_same = known.id == named.id
                && named.sale.is_none_or(|sale| i64::from(sale) == known.sale.get());
            let refused = Err(Error::Refused(Refusal::Reference));
            let again = Ok(Answer::Confirm(Confirmation::again(known.outcome)));
            ensure(*answer == if is_same { again } else { refused }, "another answer")?;
            let recorded = reference.map_or(0, |it| self.written.recorded[usize::from(it)]);
            let is_again = self.written.anything == is_same && recorded == u8::from(is_same);
            return ensure(
                self.before == self.after && is_again,
                "an answer that is not replicated",
            );
        }
        let outcome = paid(self.after).map(|payment| payment.outcome);
        // An order in line has no units to be paid.
        let Some((before, after)) = self.named(named).filter(|(_, it)| it.state != State::Waiting)
        else {
            let is_unknown = *answer == Ok(Answer::Confirm(Confirmation::NoSuchOrder));
            let is_recorded = outcome == reference.map(|_| Paid::Unknown);
            ensure(self.before.book == self.after.book, "another order")?;
            let is_right =
                is_unknown && is_recorded && self.written.anything == reference.is_some();
            return ensure(is_right || self.before.rules.is_none(), "an order is not known, or is");
        };
        let was_sold = before.state == State::Sold;
        let is_second = |known| reference.is_some_and(|given| known != given);
        let Ok(Answer::Confirm(answer)) = answer else { return Err("a confirmation is refused") };
        ensure(self.written.anything, "an answer that is not replicated")?;
        let (is_right, wanted) = match answer {
            Confirmation::NoSuchOrder => (false, Paid::Unknown),
            Confirmation::Confirmed => {
                (before.state == State::Held && after.state == State::Sold, Paid::First)
            }
            Confirmation::WasSold => {
                let first = before.reference.or(reference);
                let is_sold = was_sold && after.state == State::Sold && after.reference == first;
                (is_sold && reference.is_none_or(|given| first == Some(given)), Paid::First)
            }
            Confirmation::TooLate => (!was_sold && after.state.is_released(), Paid::Late),
            Confirmation::SecondPayment => {
                let is_so = before.reference.is_some_and(is_second);
                (was_sold && before == after && is_so, Paid::Second)
            }
            // Only for a payment that is on record.
            Confirmation::ReleasedSince => (false, Paid::Released),
        };
        ensure(outcome.is_none_or(|it| it == wanted), "a payment is recorded as another")?;
        ensure(outcome.is_some() == reference.is_some(), "a payment is not recorded")?;
        ensure(is_right, "a confirmation that is not true")
    }

    pub fn check_extend(&self, named: &Named, answer: Confirmation) -> Checked {
        let Some((before, after)) = self.named(named).filter(|(_, it)| it.state != State::Waiting)
        else {
            return self.check_unknown(answer == Confirmation::NoSuchOrder);
        };
        ensure(self.written.anything, "an answer that is not replicated")?;
        let is_overdue = before.is_overdue(NOW);
        let is_right = match answer {
            Confirmation::NoSuchOrder => false,
            Confirmation::Confirmed => !is_overdue && after.state == State::Held,
            Confirmation::WasSold => after.state == State::Sold,
            Confirmation::TooLate => after.state.is_released(),
            Confirmation::ReleasedSince | Confirmation::SecondPayment => false,
        };
        ensure(is_right, "a reservation is not what was answered")
    }
}

/// Somebody recorded a reference of the book for another order, or another sale.
#[test]
fn only_the_payment_of_a_released_order_is_refunded() {
    let sold = with_order(State::Sold, 1, Some(1), 2);
    let sale = sold.sale().unwrap();
    let earlier = SaleId::new(sale.get() + 1).unwrap();
    for (sale, id, is_refunded) in [(sale, 0, true), (sale, 1, false), (earlier, 0, false)] {
        let mut world = sold;
        world.book[0] = world.book[0].map(|entry| Entry { reference: Some(0), ..entry });
        world.payments[0] = Some(Payment { sale, id, outcome: Paid::First });
        let plan = plan(asked(world, |facts| orders::cancel(facts, &request(), None, None)));
        assert_eq!(plan.payment.is_some(), is_refunded, "{sale:?} {id}");
    }
}
