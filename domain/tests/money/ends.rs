//! What the end of a course shows: nothing is said to be consistent whose money differs, and every
//! question has an end.

use crate::model::{Money, POLICIES, State};
use crate::planted::Planted;
use crate::shop::{Asked, Kind, UNKNOWN};
use domain::resolve::Answer;
use domain::unmatched::PaymentQuestion;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::Ordering;

/// More answers than any question needs.
const ANSWERS_MAX: usize = 16;

impl Money {
    /// What the end of a course shows: a check without anything being asked, and then each way of
    /// answering, until nothing is asked.
    pub fn end(&self, state: &State) -> Result<(), &'static str> {
        let mut now = state.clone();
        now.resolves = [None, None];
        (now.replica, now.backup) = (None, None);
        now.read_all(self.planted)?;
        let mut hasher = DefaultHasher::new();
        (&now.server, &now.shop, &now.provider, now.losses > 0).hash(&mut hasher);
        if !self.seen.lock().unwrap().insert(hasher.finish()) {
            return Ok(());
        }
        self.ends.fetch_add(1, Ordering::Relaxed);
        let vouchers = &now.server.vouchers;
        let is_restored = now.databases_left < self.bounds.databases;
        let is_lost = now.losses > 0 || is_restored;
        // A check that would write anything finds nothing consistent.
        let mut repaired = now.clone();
        repaired.shop.repair(vouchers, self.planted)?;
        if repaired.shop != now.shop && !is_lost {
            return Err("a repair without a loss");
        }
        for list in [None, Some(&now.provider)] {
            let now = &repaired;
            let asked = now.shop.check(vouchers, list, self.planted);
            // Without the provider's list, what is lost on both sides is nobody's knowledge.
            let is_said = self.bounds.is_stated && !self.bounds.wrong;
            // So are rulings that the database has lost.
            let is_ruled = now.resolves_left < self.bounds.resolves && is_restored;
            let is_whole = list.is_some() || now.losses == 0 && is_said && !is_ruled;
            let is_complete = !now.shop.is_incomplete(vouchers, self.planted);
            if asked.is_empty() && is_whole && is_complete {
                self.consistent.fetch_add(1, Ordering::Relaxed);
                let wrong = now.shop.wrong(&now.provider, self.planted);
                // A confirmation may be on its way.
                let wrong = wrong.filter(|it| list.is_some() || *it != UNKNOWN);
                wrong.map_or(Ok(()), Err)?;
            }
            let is_misuse =
                matches!(self.bounds.kind, Kind::Two | Kind::Sales) || self.bounds.wrong;
            let is_early =
                |it: &Asked| matches!(it, Asked::Payment(.., PaymentQuestion::Unmatched));
            if now.losses == 0
                && !is_restored
                && !is_misuse
                && state.resolves_left == self.bounds.resolves
            {
                let known = |it: &Asked| is_early(it) || self.is_own_refund(now, it);
                if !asked.iter().all(known) {
                    return Err("a question without a loss");
                }
            }
        }
        for policy in POLICIES {
            let mut end = now.clone();
            self.close(&mut end, policy)?;
        }
        Ok(())
    }

    /// Without UNITS the provider's list is what tells how many units were paid.
    fn is_own_refund(&self, state: &State, asked: &Asked) -> bool {
        match asked {
            Asked::Units(reference) => {
                !self.bounds.is_stated
                    || self.bounds.kind == Kind::Cart
                    || state.shop.balance(*reference, self.planted).paid == Some(0)
            }
            Asked::Stated(..) => !self.bounds.is_stated,
            Asked::Refunded(..) => !self.bounds.is_stated,
            _ => false,
        }
    }

    /// Answers until nothing is asked.
    fn close(&self, state: &mut State, policy: Answer) -> Result<(), &'static str> {
        self.resolved.fetch_add(1, Ordering::Relaxed);
        for round in 0..ANSWERS_MAX {
            state.read_all(self.planted)?;
            state.shop.repair(&state.server.vouchers, self.planted)?;
            let list = Some(&state.provider).filter(|_| self.planted != Planted::NoList);
            let asked = state.shop.check(&state.server.vouchers, list, self.planted);
            if self.is_traced.load(Ordering::Relaxed) {
                println!("  {policy:?} {round}: {asked:?}\n    {}", state.brief());
            }
            let Some(first) = first(&asked, round) else {
                self.longest.fetch_max(round as u64, Ordering::Relaxed);
                return self.closed(state);
            };
            state.answer(first, policy, round, self.planted)?;
        }
        Err("a resolve never ends")
    }

    /// All is said to be consistent.
    fn closed(&self, state: &State) -> Result<(), &'static str> {
        let wrong = state.shop.wrong(&state.provider, self.planted);
        let is_seen = !state.shop.lacks_sale(&state.server.vouchers);
        wrong.filter(|_| is_seen).map_or(Ok(()), Err)?;
        for (slot, order) in state.shop.orders.iter().enumerate() {
            let conflicts = state.shop.conflicts(slot, self.planted);
            let server = state.shop.seen(&state.server.vouchers, slot);
            if server.is_over {
                continue;
            }
            let there = server.order.filter(|it| it.phase == domain::rows::Phase::Sold);
            let there = there.map_or(0, |it| it.units);
            let kept = order.kept(conflicts).0;
            let oversold = order.standing(conflicts).is_some_and(|it| it.is_without_units);
            if !oversold && kept != there + server.outside {
                return Err("rows and units of the sale differ");
            }
        }
        state.sound(&self.bounds)
    }
}

/// The question that is answered first: of two orders, now the one, now the other.
fn first(asked: &[Asked], round: usize) -> Option<Asked> {
    let rank = |asked: &Asked| match asked {
        Asked::Whose(_) | Asked::Stated(..) => 0,
        Asked::Payment(_, _, PaymentQuestion::Unmatched) => 1,
        Asked::Payment(..) => 2,
        Asked::Order(slot, _) => 3 + (slot + round) % 2,
        Asked::Units(_) => 5,
        Asked::Refunded(..) => 6,
    };
    asked.iter().copied().min_by_key(rank)
}
