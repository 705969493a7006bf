//! The commands, as the module takes their steps: facts, decision, plan, apply.

pub use crate::requests::{Action, Answer, Named, keeping, meant};

use crate::flat::Flat;
use crate::planted::Planted;
use crate::world::{Error, HasBought, NOW, View, World, Written};
use domain::book::{Entry, Reason};
use domain::confirm::{self, Given};
use domain::facts::Refusal;
use domain::orders::{self, Cancellation, OrderRequest};
use domain::overlay::Overlay;
use domain::plan::{Decision, Order, Plan, SalePlan};
use domain::rules::{Meant, Millis, Rules, SaleId};
use domain::sale::{Policy, TryOutcome, Units};
use domain::sales::{self, End};
use domain::tries::{self, Else, Wish};
use std::cell::Cell;

/// A try that waits where it would lose.
pub const WAITS: Wish = Wish { or_else: Else::Wait, limit: None };

/// The entry of a try, as a consumer rejects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Late {
    pub user: u8,
    pub units: u8,
    /// The sale, or 0.
    pub sale: u8,
}

impl Late {
    pub fn of(entry: &Entry<u8>, sale: Option<SaleId>) -> Self {
        let (user, units) = (entry.user, entry.units.get() as u8);
        Self { user, units, sale: sale.map_or(0, |sale| sale.get() as u8) }
    }

    pub fn sale(self) -> Option<SaleId> {
        SaleId::new(self.sale.into())
    }
}

/// One command in its course.
pub struct Run<'m> {
    pub world: World,
    pub written: Written,
    pub bad: Option<&'static str>,
    pub asked: Cell<usize>,
    pub fails: usize,
    pub knows_buyers: bool,
    /// How many orders of the queue are promoted yet.
    pub promotes: usize,
    pub planted: Option<&'m Planted>,
    pub action: Action,
    /// The rules of a sale that is created now.
    pub new_rules: Rules,
    /// The entry to be rejected.
    pub late: Option<Late>,
}

impl Run<'_> {
    pub fn ask<T>(&self, question: impl FnOnce(&View<'_>) -> T) -> T {
        let Some(planted) = self.planted else { return question(&self.view(&self.world)) };
        let mut seen = self.world;
        (planted.sight)(&mut seen, &self.action);
        question(&self.view(&seen))
    }

    fn view<'w>(&'w self, world: &'w World) -> View<'w> {
        let (asked, policy) = (&self.asked, Policy::default());
        View { world, asked, fails: self.fails, knows_buyers: self.knows_buyers, policy }
    }

    pub fn apply(&mut self, mut plan: Flat) -> Result<(), HasBought> {
        let edit = self.planted.map(|planted| planted.edit);
        if edit.is_some_and(|edit| !edit(&mut plan, &self.action)) {
            return Ok(());
        }
        self.world.apply(&plan, &mut self.written, &mut self.bad)
    }

    /// Applies a plan, and those that follow from it.
    fn carry_out(&mut self, plan: Plan<u8>) -> Result<(), HasBought> {
        let moves_queue = plan.moves_queue();
        let plan = plan.into();
        let is_deaf = self.planted.is_some_and(|planted| (planted.is_deaf)(&plan));
        let moves_queue = moves_queue && !is_deaf;
        self.apply(plan)?;
        if moves_queue {
            self.promote();
        }
        Ok(())
    }

    fn expire(&mut self, ids: &[u8]) {
        for id in ids {
            if let Ok(plan) = self.ask(|facts| orders::end_hold(facts, id, Reason::Expired)) {
                let _ = self.carry_out(plan);
            }
        }
    }

    /// Takes a decision's answer and applies its plan.
    fn take<A>(&mut self, decision: Decision<A, u8>) -> Result<A, Error> {
        match decision {
            Decision::Answer(answer) => Ok(answer),
            Decision::Do(answer, plan) => {
                if self.carry_out(plan).is_err() {
                    self.bad = Some("a plan that asks for the buyer");
                }
                Ok(answer)
            }
            Decision::ExpireFirst(_) => {
                self.bad = Some("nothing to be expired");
                Err(Error::Fault)
            }
        }
    }

    pub fn run(&mut self) -> Result<Answer, Error> {
        let action = self.action;
        let asked = self.planted.map_or(action, |planted| (planted.request)(action));
        let answer = self.run_one(asked);
        match self.planted.and_then(|planted| (planted.then)(action)) {
            Some(next) if answer == Ok(Answer::Cancel(Cancellation::Released)) => {
                let _ = (std::mem::replace(&mut self.action, next), self.run_one(next));
                self.action = action;
            }
            _ => {}
        }
        answer
    }

    fn run_one(&mut self, action: Action) -> Result<Answer, Error> {
        match action {
            Action::Try(order) => self.a_try(&order, Meant::Any, Wish::PLAIN).map(Answer::Try),
            Action::Wait(order) => self.a_try(&order, Meant::Any, WAITS).map(Answer::Try),
            Action::TryFor(order, sale) => {
                self.a_try(&order, meant(Some(sale)), Wish::PLAIN).map(Answer::Try)
            }
            Action::Promote => {
                self.promote();
                Ok(Answer::Number(0))
            }
            Action::Pair(first, second) => Ok(Answer::Pair(self.pair([first, second]))),
            Action::Confirm(named, reference) => self.confirm(named, reference, false, None),
            Action::Paid(named, reference, units) => {
                self.confirm(named, Some(reference), false, Some(units))
            }
            Action::Refund(named, reference) => self.confirm(named, Some(reference), true, None),
            Action::Fill => {
                self.world.is_full = !self.world.is_full;
                Ok(Answer::Number(0))
            }
            Action::Extend(named, ms) => {
                let decided = self.ask(|facts| confirm::extend(facts, &named.request(), ms))?;
                self.take(decided).map(Answer::Confirm)
            }
            Action::Cancel(named, cancel) => {
                let request = named.request();
                let decided = self.ask(|facts| orders::cancel(facts, &request, cancel))?;
                self.take(decided).map(Answer::Cancel)
            }
            Action::Reject(id) | Action::RejectUnsold(id) | Action::RejectLate(_, id) => {
                self.reject(id)
            }
            Action::Timer(id) => {
                let plan = self.ask(|facts| orders::end_hold(facts, &id, Reason::Expired))?;
                self.take(Decision::Do(Answer::Number(1), plan))
            }
            Action::Overwrite(stock) => Ok(self.overwrite(stock)),
            _ => self.about_the_sale().map(Answer::Number),
        }
    }

    fn confirm(
        &mut self,
        named: Named,
        reference: Option<u8>,
        is_refunded: bool,
        units: Option<Units>,
    ) -> Result<Answer, Error> {
        let request = named.request();
        let given = || reference.map(|reference| Given { reference, is_refunded, units });
        let decided = self.ask(|facts| confirm::confirm(facts, &request, given()))?;
        self.take(decided).map(Answer::Confirm)
    }

    fn a_try(
        &mut self,
        order: &Order<u8>,
        sale: Meant,
        wish: Wish,
    ) -> Result<tries::TryAnswer, Error> {
        let decide = |run: &Self, expired| {
            run.ask(|facts| tries::decide_for(facts, sale, order, wish, expired))
        };
        let decided = match decide(self, false)? {
            Decision::ExpireFirst(ids) => {
                self.expire(&ids);
                decide(self, true)?
            }
            decided => decided,
        };
        match decided {
            Decision::Do(answer, plan) if answer == TryOutcome::Accepted.into() => {
                let has_bought = self.apply(plan.into()) == Err(HasBought);
                Ok(if has_bought { TryOutcome::AtLimit.into() } else { answer })
            }
            decided => self.take(decided),
        }
    }

    /// Decides over plans that are not applied yet, as SECKILL.MTRY does.
    fn pair(&mut self, tries: [Order<u8>; 2]) -> [Result<tries::TryAnswer, Error>; 2] {
        self.knows_buyers = true;
        let mut answers = [Err(Error::Fault); 2];
        let (mut next, mut expired) = (0, false);
        while next < tries.len() {
            let (mut world, mut forgotten) = (self.world, Vec::new());
            if let Some(planted) = self.planted {
                (planted.sight)(&mut world, &self.action);
            }
            let asked = Cell::new(self.asked.get());
            let view = View { asked: &asked, ..self.view(&world) };
            let mut overlay = Overlay::new(&view, tries.len());
            let mut stop = None;
            while next < tries.len() && stop.is_none() {
                match tries::decide(&overlay, &tries[next], Wish::PLAIN, expired) {
                    Ok(Decision::Do(answer, Plan::Take(take))) => {
                        answers[next] = Ok(answer);
                        if self.planted.is_some_and(|planted| planted.forgets) {
                            forgotten.push(take);
                        } else {
                            overlay.push(take);
                        }
                    }
                    Ok(Decision::Answer(answer)) => answers[next] = Ok(answer),
                    Err(error) => answers[next] = Err(error),
                    Ok(decided) => stop = Some(decided),
                }
                if stop.is_none() {
                    (next, expired) = (next + 1, false);
                }
            }
            let takes = overlay.take();
            self.asked.set(asked.get());
            for take in takes.into_iter().chain(forgotten) {
                if self.apply(Plan::Take(take).into()).is_err() {
                    self.bad = Some("a pair that asks for the buyer");
                }
            }
            match stop {
                Some(Decision::ExpireFirst(ids)) => {
                    self.expire(&ids);
                    expired = true;
                }
                Some(decided) => {
                    answers[next] = self.take(decided);
                    (next, expired) = (next + 1, false);
                }
                None => {}
            }
        }
        answers
    }

    fn reject(&mut self, id: u8) -> Result<Answer, Error> {
        let late = self.late.expect("an entry to be rejected");
        let request = OrderRequest { user: late.user, id, sale: Meant::by_entry(late.sale()) };
        let units = Units::new(late.units.into()).unwrap_or(Units::ONE);
        let only_unsold = matches!(self.action, Action::RejectUnsold(_));
        let decided = self.ask(|facts| orders::reject(facts, &request, units, only_unsold))?;
        self.take(decided).map(Answer::Reject)
    }

    fn about_the_sale(&mut self) -> Result<i64, Error> {
        let rules = self.new_rules;
        let (answer, plan) = match self.action {
            Action::Restock(how) => self.ask(|facts| sales::restock(facts, Meant::Any, how))?,
            Action::Create => (0, self.ask(|facts| sales::create(facts, rules, false))?),
            Action::Adopt => (0, self.ask(|facts| sales::create(facts, rules, true))?),
            Action::Drop { forced, sale } => return self.drop(forced, meant(sale)),
            _ => return self.alter(),
        };
        self.apply_sale(&plan);
        Ok(answer)
    }

    fn apply_sale(&mut self, plan: &SalePlan<u8>) {
        self.world.apply_sale(plan, &mut self.written);
        if plan.moves_queue() {
            self.promote();
        }
    }

    /// SECKILL.ALTER, and what other clients write.
    fn alter(&mut self) -> Result<i64, Error> {
        let (action, later) = (self.action, |ms: Option<Millis>| ms.map(|ms| NOW + ms));
        if let (Action::SetStock(stock), None) = (action, self.world.rules) {
            self.world.stock = Some(stock);
            self.written.anything = true;
            return Ok(0);
        }
        let change = |rules: Rules| match action {
            Action::End(end) => Ok(Rules { end: later(end), ..rules }),
            Action::Begin(begin) => Ok(Rules { begin: later(begin), ..rules }),
            Action::Limit(limit) => Ok(Rules { limit, ..rules }),
            Action::Hold(hold) => Ok(Rules { hold, ..rules }),
            _ => Err(Refusal::NotManaged.into()),
        };
        let decide = |run: &Self| run.ask(|facts| sales::alter(facts, Meant::Any, change));
        let plan = match decide(self) {
            Err(Error::Refused(Refusal::EndingWaits)) => {
                self.end_wait()?;
                decide(self)?
            }
            decided => decided?,
        };
        self.apply_sale(&plan);
        Ok(0)
    }

    /// One order is released at the most, and nobody gets its units.
    fn drop(&mut self, forced: bool, sale: Meant) -> Result<i64, Error> {
        self.promotes = 0;
        let plan = match self.ask(|facts| sales::drop(facts, sale, forced, 1))? {
            End::Delete(plan) => plan,
            End::Cancel { ids, delete, end } => {
                for id in ids {
                    let plan = self.ask(|facts| orders::end_hold(facts, &id, Reason::Cancelled))?;
                    let _ = self.carry_out(plan);
                }
                delete.unwrap_or(end)
            }
        };
        self.apply_sale(&plan);
        Ok(if plan.delete.is_some() { 1 } else { 2 })
    }
}
