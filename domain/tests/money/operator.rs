//! An operator's resolve: what is shown, steps on the server, the ruling. It may stop after any.

use crate::planted::Planted;
use crate::provider::Provider;
use crate::server::{Said, Voucher, Who};
use crate::shop::{Order, Shop};
use domain::book::State;
use domain::confirm::Confirmation;
use domain::orders::Cancellation;
use domain::resolve::{Answer, Resolution, ServerStep, plan};
use domain::rows::Report;
use domain::ruling::Word;
use domain::rulings::rule;
use domain::server_state::Server;

/// A resolve under way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Resolve {
    slot: usize,
    shown: Order,
    /// What the server said of the order.
    server: Server<u8>,
    plan: Resolution<u8>,
    /// Steps done.
    done: usize,
    said: Vec<Report<u8>>,
    /// The shop has refunded it before, as the list says: nothing is refunded for it now.
    is_noted: bool,
}

/// What a step does beside.
pub struct Done {
    pub said: Vec<Said>,
    /// It goes on; otherwise it has ended, or looks again.
    pub goes_on: bool,
}

impl Resolve {
    pub fn start(
        shop: &Shop,
        vouchers: &[Voucher],
        slot: usize,
        answer: Answer,
        is_noted: bool,
        planted: Planted,
    ) -> Self {
        let server = shop.seen(vouchers, slot);
        let shown = shop.orders[slot].clone();
        let others = |reference: &u8| shop.others(slot, *reference, planted);
        let plan = plan(&shown, &server, answer, others);
        let said = plan.said.clone();
        Self { slot, shown, server, plan, done: 0, said, is_noted }
    }

    /// The units that the server has for the order once the steps are done.
    fn has(&self) -> i64 {
        let taken = self.plan.before.iter().map(|step| match step {
            ServerStep::Take { units } => *units,
            _ => 0,
        });
        self.plan.ruling.kept - taken.sum::<i64>()
    }

    pub fn slot(&self) -> usize {
        self.slot
    }

    /// The next step.
    pub fn step(
        &mut self,
        shop: &mut Shop,
        vouchers: &mut [Voucher],
        provider: &mut Provider,
        planted: Planted,
    ) -> Result<Done, &'static str> {
        let (voucher, who) = (shop.kind.slots()[self.slot].0, shop.kind.who(self.slot));
        let steps = self.plan.before.len();
        let has = self.has();
        if self.done == steps {
            self.done += 1;
            let now = shop.seen(vouchers, self.slot);
            if planted != Planted::LooksOnce && !self.plan.is_as_shown(&self.server, &now) {
                return Ok(Done { said: Vec::new(), goes_on: false });
            }
            let goes_on = self.rule(shop, provider, planted)? && self.plan.after.is_some();
            return Ok(Done { said: Vec::new(), goes_on });
        }
        let step = match self.plan.before.get(self.done) {
            Some(step) => step.clone(),
            None => self.plan.after.clone().ok_or("no step is left")?,
        };
        let is_last = self.done > steps;
        self.done += 1;
        let (mut says, said) = self.on_server(&step, &mut vouchers[voucher], who);
        if is_last {
            says = says.and(None);
        } else if let Some(true) = says
            && let Some(report) = step.says(has)
        {
            self.said.push(report);
        }
        Ok(Done { said, goes_on: says.is_some() })
    }

    /// Whether the step was done, or was so; None if it is refused.
    fn on_server(
        &mut self,
        step: &ServerStep<u8>,
        voucher: &mut Voucher,
        order: Who,
    ) -> (Option<bool>, Vec<Said>) {
        match step {
            ServerStep::Cancel { was_sold, kept, refunded, is_norestock, .. } => {
                let only = Some(if *was_sold { State::Sold } else { State::Held });
                let how = (*refunded, *is_norestock);
                let (answer, said) = voucher.cancel(order, only, *kept, how);
                let done = match answer {
                    Cancellation::Released => Some(true),
                    // Somebody else may have released it, and refunded it.
                    Cancellation::WasReleased
                    | Cancellation::NoSuchOrder
                    | Cancellation::InAnotherState => None,
                };
                (done, said)
            }
            ServerStep::Confirm { payment } => {
                let reference = payment.map(|it| it.reference);
                let units = payment.and_then(|it| it.units);
                let (answer, said) = voucher.confirm(order, reference, units);
                let is_done =
                    matches!(answer, Some(Confirmation::Confirmed | Confirmation::WasSold));
                (is_done.then_some(true), said)
            }
            ServerStep::Return { units } => {
                (voucher.restock_for(order, *units).then_some(true), Vec::new())
            }
            ServerStep::Take { units } => {
                self.plan.ruling.is_without_units = !voucher.restock_for(order, -units);
                (Some(true), Vec::new())
            }
        }
    }

    /// The transaction. False if it is refused.
    fn rule(
        &mut self,
        shop: &mut Shop,
        provider: &mut Provider,
        planted: Planted,
    ) -> Result<bool, &'static str> {
        let others: Vec<_> =
            (0..2).map(|reference| shop.others(self.slot, reference, planted)).collect();
        let order = &mut shop.orders[self.slot];
        let before = order.clone();
        let other = |reference: &u8| others[usize::from(*reference)].clone();
        if rule(order, &self.shown, &self.plan.ruling, &self.said, other).is_err() {
            return Ok(false);
        }
        if planted == Planted::LeavesOpen {
            for (reference, payment) in order.payments.iter_mut() {
                if let Some(was) = before.payments.get(reference) {
                    payment.lines = was.lines.clone();
                }
            }
        }
        if self.plan.ruling.word == Word::Refunded && !self.is_noted {
            for (reference, payment) in order.payments.iter() {
                let was = before.payments.get(reference);
                let was = was.map(|it| it.ruled_elsewhere.clone()).unwrap_or_default();
                let units = payment.ruled_elsewhere.without(&was);
                provider.refund(*reference, self.slot, &units);
            }
        }
        shop.tend(planted).map(|()| true)
    }
}
