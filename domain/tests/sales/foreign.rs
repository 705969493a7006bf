//! Stocks that other clients write.

use crate::actions::{Answer, Run};
use crate::bounds::order;
use crate::extremes::{MAX, asked, restocked, with_order};
use crate::flat::Flat;
use crate::world::{Error, World, Written};
use domain::book::State;
use domain::facts::Refusal;
use domain::payments::Outcome as Paid;
use domain::plan::{Append, Decision};
use domain::sale::TryOutcome;
use domain::sales::Restock;
use domain::tries::{self, Wish};

impl World {
    pub fn check_unmanaged(&self) -> Result<(), &'static str> {
        let bare = Self { stock: self.stock, buyers: self.buyers, ..self.without_sale() };
        if *self != bare {
            return Err("keys without rules");
        }
        if self.stock.is_some_and(|left| left < 0) { Err("oversold") } else { Ok(()) }
    }

    /// Users on record, without the orders in the queue.
    pub fn counted(&self) -> i64 {
        let users = self.units.iter().flatten().count() as i64;
        users - self.in_queue().len() as i64
    }

    /// What there is to be sold: total is left, held and sold, whatever the stock says.
    pub fn for_sale(&self) -> i64 {
        let live: i64 = self.live().map(|entry| entry.units.get()).sum();
        let left = self.stock.unwrap_or(0);
        self.rules.map_or(left, |rules| left.min(rules.total - live))
    }
}

impl Run<'_> {
    pub fn overwrite(&mut self, stock: i64) -> Answer {
        self.world = World { stock: Some(stock), is_foreign: true, ..self.world };
        self.written.anything = true;
        Answer::Number(0)
    }
}

impl Written {
    pub fn count(&mut self, append: Append, plan: &Flat, id: usize) {
        match append {
            Append::Release { .. } => self.released[id] += 1,
            Append::Confirmation => self.confirmed[id] += 1,
            Append::Payment(outcome) => {
                self.confirmed[id] += u8::from(outcome == Paid::First);
                let reference = plan.payment.map(|(reference, _)| usize::from(reference));
                reference.into_iter().for_each(|it| self.paid[it] += 1);
            }
            Append::DeadLetter { .. } => self.letters += 1,
        }
    }
}

#[test]
fn what_is_in_stock_beyond_the_total_is_not_sold() {
    // An order of two units is live.
    for (stock, total, units, want) in [
        (3, 5, 3, TryOutcome::Accepted),
        (4, 5, 3, TryOutcome::Accepted),
        (4, 5, 4, TryOutcome::SoldOut),
        (MAX, 5, 4, TryOutcome::SoldOut),
        (MAX, 2, 1, TryOutcome::SoldOut),
        (1, 1, 1, TryOutcome::SoldOut),
        (2, 5, 3, TryOutcome::SoldOut),
        (2, 5, 2, TryOutcome::Accepted),
    ] {
        let order = order(1, 1, units);
        let world = with_order(State::Sold, 2, Some(stock), total);
        let decided =
            asked(world, |facts| tries::decide(facts, &order, Wish::PLAIN, false)).map(|decided| {
                match decided {
                    Decision::Answer(answer) | Decision::Do(answer, _) => answer.outcome,
                    Decision::ExpireFirst(_) => panic!("nothing is due"),
                }
            });
        assert_eq!(decided, Ok(want), "{stock} {total} {units}");
    }
    // Nor taken away by a restock.
    let of = |stock| with_order(State::Sold, 2, Some(stock), 3);
    assert_eq!(restocked(of(9), Restock::By(-2)).err(), Some(Error::Refused(Refusal::TooFew)));
    assert!(restocked(of(9), Restock::By(-1)).is_ok());
}
