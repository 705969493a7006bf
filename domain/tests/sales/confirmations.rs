//! What every confirmation must keep: each payment is recorded and announced once.

use crate::actions::{Action, Answer, Named};
use crate::extremes::{asked, plan, refused, request, with_order};
use crate::properties::{Checked, Step, ensure};
use crate::requests::ALL;
use crate::world::{Error, NOW, World};
use domain::book::{Entry, State};
use domain::confirm::{self, Confirmation, Given};
use domain::facts::Refusal;
use domain::orders::{self, Cancel, OrderRequest};
use domain::payments::{Outcome as Paid, Payment};
use domain::plan::{Decision, Plan};
use domain::rules::{Meant, SaleId};
use domain::sales::{self, Restock};

impl World {
    pub fn units_outside(&self) -> i64 {
        self.outside.iter().flatten().map(|units| units.get()).sum()
    }

    /// What is on record of payments agrees with their orders.
    pub fn check_payments(&self, sale: SaleId) -> Checked {
        for (payment, reference) in self.payments.iter().zip(0_u8..) {
            let first = payment.filter(|it| it.outcome == Paid::First && it.sale == sale);
            let paid = first.and_then(|it| self.entry(it.id));
            if paid.is_some_and(|it| it.reference == Some(reference) && !it.state.is_live()) {
                return Err("a refund that is announced is not recorded");
            }
            let of_sale = payment.filter(|it| it.sale == sale);
            let its = of_sale.and_then(|it| Some((it, self.entry(it.id)?)));
            let is_its = |it: &Entry<u8>| it.reference == Some(reference);
            if its.is_some_and(|(payment, it)| is_its(&it) && payment.paid != it.paid) {
                return Err("a payment is for other units than its order was paid for");
            }
        }
        Ok(())
    }
}

impl Step<'_> {
    /// A payment is recorded and announced once, by the confirmation that brings it, and changes
    /// only when its order is released. One that is unmatched is none yet.
    pub fn check_payment(&self, reference: usize) -> Checked {
        let (before, after) = (self.before.payments[reference], self.after.payments[reference]);
        let paid = self.written.paid[reference];
        let is_right = match (before, after) {
            (None, None) => paid == 0,
            (None, Some(after)) => self.brings(reference, &after) && paid == 1,
            (Some(before), Some(after)) if before == after => paid == 0,
            (Some(before), Some(after)) if before.outcome == Paid::Unmatched => {
                self.brings(reference, &after) && paid == 1
            }
            (Some(before), Some(after)) => {
                let released = Payment { outcome: Paid::Released, ..before };
                let order = self.after.entry(before.id);
                let is_released = self.written.released[usize::from(before.id)] == 1
                    && has_reference(order, reference)
                    && order.is_some_and(|it| it.was == Some(State::Sold));
                before.outcome == Paid::First && after == released && is_released && paid == 0
            }
            (_, None) => false,
        };
        ensure(is_right, "a payment vanishes, or counts twice")
    }

    /// Is this record that of the payment, and of the order, that are named?
    fn brings(&self, reference: usize, record: &Payment<u8>) -> bool {
        let refund = || match self.action {
            Action::Refund(named, given) => Some((*named, Some(*given))),
            _ => None,
        };
        let Some((named, given)) = self.action.pays().or_else(refund) else { return false };
        let order = self.after.entry(record.id);
        let is_its = matches!(record.outcome, Paid::First | Paid::Released);
        let is_its = is_its == has_reference(order, reference);
        let is_named = (record.user, record.id) == (Some(named.user), named.id);
        // What was said once of an unmatched payment stands until something else is said.
        let known = self.before.payments[reference].and_then(|it| it.paid);
        let is_as_said = record.paid == self.action.paid().or(known);
        given.map(usize::from) == Some(reference) && is_named && is_its && is_as_said
    }

    /// The sale that a confirmation means: that it names, else the one that is on, else the last.
    fn meant(&self, named: &Named) -> Option<SaleId> {
        let sale = named.sale.and_then(|sale| SaleId::new(sale.into()));
        sale.or(self.before.sale()).or(self.before.last)
    }

    pub fn check_confirm(
        &self,
        named: &Named,
        reference: Option<u8>,
        is_refunded: bool,
        answer: &Result<Answer, Error>,
    ) -> Checked {
        let paid = |world: &World| reference.and_then(|it| world.payments[usize::from(it)]);
        let (known, meant) = (paid(self.before), self.meant(named));
        let recorded = reference.map_or(0, |it| self.written.recorded[usize::from(it)]);
        let is_theirs = known.is_some_and(|it| (it.user, it.id) == (Some(named.user), named.id));
        if let Some(known) = known.filter(|it| it.outcome != Paid::Unmatched) {
            // Answered again, whatever has become of the order.
            let is_meant = is_theirs && meant == Some(known.sale);
            let of_sale = self.before.entry(known.id).filter(|_| self.before.sale() == meant);
            let its_units = known.paid.or(of_sale.map(|entry| entry.units));
            let units = self.action.paid();
            let is_same = is_meant && (units.is_none() || units == its_units);
            let refused = |refusal| Err(Error::Refused(refusal));
            let wanted = match (is_meant, is_same) {
                (_, true) => Ok(Answer::Confirm(Confirmation::again(known.outcome))),
                (true, false) => refused(Refusal::Units),
                (false, false) => refused(Refusal::Reference),
            };
            ensure(*answer == wanted, "another answer")?;
            let is_again = self.written.anything == is_same && recorded == u8::from(is_same);
            return ensure(
                self.before == self.after && is_again,
                "an answer that is not replicated",
            );
        }
        let Some(after) = paid(self.after).filter(|it| it.outcome != Paid::Unmatched) else {
            return self.check_unpaid(named, reference, is_refunded, answer);
        };
        let is_earlier = known.is_some_and(|it| named.sale.is_none() && Some(it.sale) != meant);
        let sale = known.map(|it| it.sale).filter(|_| is_earlier).or(meant);
        ensure(Some(after.sale) == sale && recorded == 1, "a payment of another sale")?;
        let keeps = matches!(after.outcome, Paid::Late | Paid::Duplicate | Paid::Released);
        ensure(!keeps || !self.before.is_full, "a payment is kept though memory is full")?;
        if is_refunded {
            let is_late = after.outcome == Paid::Late && self.before.book == self.after.book;
            return ensure(
                is_late && *answer == Ok(Answer::Confirm(Confirmation::TooLate)),
                "a payment that an operator refunds is none to be refunded",
            );
        }
        ensure(!is_earlier, "an unmatched payment of an earlier sale pays")?;
        self.check_order_paid(named, reference, Some(after.outcome), answer)
    }

    /// A confirmation without a payment, or with one that is of no order, or that is refused.
    fn check_unpaid(
        &self,
        named: &Named,
        reference: Option<u8>,
        is_refunded: bool,
        answer: &Result<Answer, Error>,
    ) -> Checked {
        let known = reference.and_then(|it| self.before.payments[usize::from(it)]);
        let is_earlier =
            known.is_some_and(|it| named.sale.is_none() && Some(it.sale) != self.meant(named));
        let order = self.named(named).filter(|(_, it)| it.state != State::Waiting);
        let order = order.filter(|_| reference.is_none() || !is_earlier);
        let nothing = !self.written.anything && self.before == self.after;
        match answer {
            Err(Error::Refused(Refusal::NotManaged)) => {
                let was_managed = self.before.last.is_some() || known.is_some();
                let may_pay = reference.is_some() && was_managed;
                return ensure(self.before.rules.is_none() && !may_pay, "it was managed once");
            }
            Err(Error::Refused(Refusal::NoMemory)) => {
                let pays = order.is_some_and(|(before, _)| match before.state {
                    _ if self.has_more(named) => false,
                    State::Held => !before.is_overdue(NOW),
                    State::Sold => before.reference.is_none(),
                    State::Waiting | State::Released(_) => false,
                });
                let is_so = self.before.is_full && reference.is_some() && (!pays || is_refunded);
                return ensure(is_so && nothing, "a payment that pays is refused");
            }
            _ => {}
        }
        if order.is_some() && !is_refunded && !self.has_more(named) {
            return self.check_order_paid(named, reference, None, answer);
        }
        let is_unknown = *answer == Ok(Answer::Confirm(Confirmation::NoSuchOrder));
        ensure(is_unknown && !is_refunded, "an order is known, or a refund is not recorded")?;
        ensure(self.before.book == self.after.book, "another order")?;
        let Some(reference) = reference.map(usize::from) else {
            return ensure(nothing, "an order is not known, or is");
        };
        let units = self.action.paid().or(known.and_then(|it| it.paid));
        let of = |it: Payment<u8>| (it.user, it.id, it.paid);
        let is_same = known.is_some_and(|it| of(it) == (Some(named.user), named.id, units));
        let paid = self.written.paid[reference] == u8::from(!is_same);
        let record = self.after.payments[reference].map(|it| (it.user, it.id));
        let is_recorded =
            record == Some((Some(named.user), named.id)) && self.written.recorded[reference] == 1;
        ensure(paid && is_recorded, "an unmatched payment is not recorded once")?;
        ensure(is_same || !self.before.is_full, "a payment is kept though memory is full")
    }

    /// Does the order that is named have more units than the payment is for?
    fn has_more(&self, named: &Named) -> bool {
        let given = self.action.pays().and_then(|(_, reference)| reference);
        let known = given.and_then(|it| self.before.payments[usize::from(it)]);
        let unmatched = known.filter(|it| it.outcome == Paid::Unmatched);
        let units = self.action.paid().or(unmatched.and_then(|it| it.paid));
        let order = self.named(named).map(|(before, _)| before);
        let order = order.filter(|it| it.state.is_live() && !it.is_overdue(NOW));
        let is_unpaid = |it: &Entry<u8>| it.reference.is_none();
        order.filter(is_unpaid).is_some_and(|it| units.is_some_and(|units| units < it.units))
    }

    /// Is the order paid by this confirmation, for the first time, with what is said of it?
    pub fn is_paid_by(
        &self,
        before: &Entry<u8>,
        after: &Entry<u8>,
        is_named: impl Fn(&Named) -> bool,
    ) -> bool {
        let Some((named, reference)) = self.action.pays() else { return false };
        let is_enough =
            after.paid.is_none_or(|paid| after.state.is_released() || paid >= after.units);
        let is_first = before.reference.is_none() && after.reference == reference;
        let known = reference.and_then(|it| self.before.payments[usize::from(it)]);
        let said = self.action.paid().or(known.and_then(|it| it.paid));
        is_named(&named) && is_first && is_enough && after.paid == said
    }

    /// What an order was paid for, and what of it was refunded, changes with its payment and by
    /// releases that say so.
    pub fn check_paid_units(&self, id: usize, before: &Entry<u8>, after: &Entry<u8>) -> Checked {
        let is_first = before.reference.is_none() && after.reference.is_some();
        ensure(is_first || before.paid == after.paid, "units that were paid are others")?;
        let says = before.state == State::Sold
            && matches!(self.action, Action::Cancel(named, Cancel { refunded: true, .. })
                if usize::from(named.id) == id);
        let is_same = before.refunded == after.refunded;
        ensure(is_same != says, "units that were refunded are others, or are not")
    }

    /// A confirmation of an order that has units, or had.
    fn check_order_paid(
        &self,
        named: &Named,
        reference: Option<u8>,
        outcome: Option<Paid>,
        answer: &Result<Answer, Error>,
    ) -> Checked {
        let order = self.named(named).filter(|(_, it)| it.state != State::Waiting);
        let Some((before, after)) = order else { return Err("a payment of no order") };
        let was_sold = before.state == State::Sold;
        let is_second = |known| reference.is_some_and(|given| known != given);
        let Ok(Answer::Confirm(answer)) = answer else { return Err("a confirmation is refused") };
        ensure(self.written.anything, "an answer that is not replicated")?;
        let (is_right, wanted) = match answer {
            Confirmation::NoSuchOrder => (false, Paid::Unmatched),
            Confirmation::Confirmed => {
                (before.state == State::Held && after.state == State::Sold, Paid::First)
            }
            Confirmation::WasSold => {
                let first = before.reference.or(reference);
                let is_sold = was_sold && after.state == State::Sold && after.reference == first;
                (is_sold && reference.is_none_or(|given| first == Some(given)), Paid::First)
            }
            Confirmation::TooLate => {
                let takes_first = before.was == Some(State::Sold) && before.reference.is_none();
                let is_late = reference.is_none() || !takes_first;
                (!was_sold && after.state.is_released() && is_late, Paid::Late)
            }
            Confirmation::DuplicatePayment => {
                let is_so = before.reference.is_some_and(is_second);
                (was_sold && before == after && is_so, Paid::Duplicate)
            }
            // Only the first payment of an order that was sold without any.
            Confirmation::ReleasedSince => {
                let is_first = before.reference.is_none() && after.reference == reference;
                let was_sold = before.was == Some(State::Sold) && before.state == after.state;
                (was_sold && is_first, Paid::Released)
            }
        };
        ensure(outcome.is_none_or(|it| it == wanted), "a payment is recorded as another")?;
        ensure(outcome.is_some() == reference.is_some(), "a payment is not recorded")?;
        ensure(is_right, "a confirmation that is not true")
    }

    /// Units are taken off the sale, and return, once for each order.
    pub fn check_outside(&self, delta: i64, order: u8, answer: &Result<Answer, Error>) -> Checked {
        let of = |world: &World| world.outside[usize::from(order)].map_or(0, |it| it.get());
        let (before, after) = (of(self.before), of(self.after));
        let left = self.before.stock.unwrap_or(0);
        let is_right = match answer {
            Ok(_) if delta < 0 => after == -delta && (before == 0 || before == after),
            Ok(_) => after == 0 && (before == 0 || before == delta),
            Err(Error::Refused(Refusal::OrderId)) => before != 0 && before != delta.abs(),
            Err(Error::Refused(Refusal::TooFew)) => before == 0 && left + delta < 0,
            Err(Error::Refused(Refusal::NotManaged)) => self.before.rules.is_none(),
            Err(_) => false,
        };
        ensure(is_right, "units outside of the sale are not what was answered")
    }

    /// What only few commands change.
    pub fn check_kept_keys(&self) -> Checked {
        let is_made = matches!(self.action, Action::Create | Action::Adopt);
        ensure(is_made || self.before.last == self.after.last, "the last sale is another")?;
        let moves = matches!(self.action, Action::Restock(Restock::For { .. }));
        let is_dropped = self.before.rules.is_some() && self.after.rules.is_none();
        let is_same = self.before.outside == self.after.outside;
        ensure(moves || is_dropped || is_same, "units outside of the sale are others")
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
            Confirmation::ReleasedSince | Confirmation::DuplicatePayment => false,
        };
        ensure(is_right, "a reservation is not what was answered")
    }
}

fn has_reference(entry: Option<Entry<u8>>, reference: usize) -> bool {
    entry.is_some_and(|it| it.reference.map(usize::from) == Some(reference))
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
        world.payments[0] =
            Some(Payment { sale, paid: None, user: Some(0), id, outcome: Paid::First });
        let plan = plan(asked(world, |facts| orders::cancel(facts, &request(), ALL)));
        assert_eq!(plan.payment.is_some(), is_refunded, "{sale:?} {id}");
    }
}

/// An earlier version recorded payments without their users: the book tells whose they are, while
/// their sale is on.
#[test]
fn a_payment_without_a_user_is_that_of_its_order() {
    let sold = with_order(State::Sold, 1, Some(1), 2);
    let sale = sold.sale().unwrap();
    let earlier = SaleId::new(sale.get() + 1).unwrap();
    let again = Ok(Confirmation::WasSold);
    for (paid, user, meant, want) in [
        (sale, 0, Meant::Any, again),
        (sale, 1, Meant::Any, refused(Refusal::Reference)),
        (earlier, 1, Meant::Sale(earlier), again),
        (earlier, 1, Meant::Any, refused(Refusal::Reference)),
    ] {
        let mut world = sold;
        world.payments[0] =
            Some(Payment { sale: paid, paid: None, user: None, id: 0, outcome: Paid::First });
        let request = OrderRequest { user, id: 0, sale: meant };
        let given = Given { reference: 0, is_refunded: false, units: None };
        let decided = asked(world, |facts| confirm::confirm(facts, &request, Some(given)));
        let answer = decided.map(|decision| match decision {
            Decision::Do(answer, Plan::Repeat(_)) => answer,
            _ => panic!("{decision:?}"),
        });
        assert_eq!(answer, want, "{paid:?} {user} {meant:?}");
    }
}

/// Units off the sale return once, and none that were never off.
#[test]
fn units_that_were_not_off_the_sale_do_not_return() {
    let world = with_order(State::Sold, 1, Some(1), 2);
    for delta in [0, 1] {
        let restock = Restock::For { delta, order: 1 };
        let (left, plan) =
            asked(world, |facts| sales::restock(facts, Meant::Any, restock)).unwrap();
        assert_eq!((left, plan.stock, plan.outside, plan.rules), (1, None, None, world.rules));
    }
}
