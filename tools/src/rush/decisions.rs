//! What accepted users do about their orders: pay, cancel, or nothing.

use std::collections::HashSet;

use domain::confirm::Confirmation;
use domain::orders::Cancellation;

use crate::managed::BookedOrder;
use crate::options::Options;
use crate::plan::Plan;

/// What its user does about an accepted order.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    Paid,
    Cancelled,
    Left,
}

/// Decides for every order, by its number: asked again, the same.
#[derive(Clone, Copy, Debug)]
pub struct Decisions {
    pay: f64,
    cancel: f64,
    seed: u64,
}

impl Decisions {
    /// None where nobody does anything.
    pub fn of(options: &Options) -> Option<Decisions> {
        let managed = &options.managed;
        // An order that is not held was paid.
        let pay = if managed.hold.is_some() { managed.pay_share } else { 0.0 };
        let decisions = Decisions { pay, cancel: managed.cancel_share, seed: options.seed };
        (managed.managed && decisions.pay + decisions.cancel > 0.0).then_some(decisions)
    }

    pub fn decision(&self, number: u32) -> Decision {
        let mut random = fastrand::Rng::with_seed(self.seed ^ (u64::from(number) << 32));
        let drawn = random.f64();
        if drawn < self.cancel {
            Decision::Cancelled
        } else if drawn < self.cancel + self.pay {
            Decision::Paid
        } else {
            Decision::Left
        }
    }
}

/// What the server answered to SECKILL.CONFIRM and SECKILL.CANCEL.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Payments {
    /// In the order of `Confirmation`.
    pub confirmed: [u64; 4],
    /// In the order of `Cancellation`.
    pub cancelled: [u64; 3],
}

impl Payments {
    pub fn confirmed(&self, answer: Confirmation) -> u64 {
        self.confirmed[answer as usize]
    }

    pub fn cancelled(&self, answer: Cancellation) -> u64 {
        self.cancelled[answer as usize]
    }

    /// False when there is no such answer.
    pub fn count(&mut self, decision: Decision, answer: i64) -> bool {
        let place = usize::try_from(answer).unwrap_or(usize::MAX);
        let count = match decision {
            Decision::Paid => self.confirmed.get_mut(place),
            _ => self.cancelled.get_mut(place),
        };
        count.map(|count| *count += 1).is_some()
    }
}

/// Those of the tries that once waited in the queue and were promoted.
pub fn promoted(plan: &Plan, waited: &[u32], book: &[BookedOrder]) -> HashSet<u32> {
    let accepted = book.iter().filter(|order| order.was_accepted);
    let numbers: HashSet<u32> = accepted.filter_map(|order| plan.number(&order.order_id)).collect();
    waited.iter().copied().filter(|number| numbers.contains(number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn decisions(line: &str) -> Option<Decisions> {
        Decisions::of(&Options::parse_from(format!("rush --seed 7 {line}").split_whitespace()))
    }

    #[test]
    fn shares_of_fates_are_kept_and_fates_stay() {
        let decisions =
            decisions("--managed --hold 5ms --pay-share 0.5 --cancel-share 0.2").unwrap();
        let all: Vec<Decision> = (0..10_000).map(|number| decisions.decision(number)).collect();
        let share = |decision| all.iter().filter(|&&other| other == decision).count();
        assert!((4_800..5_200).contains(&share(Decision::Paid)), "{}", share(Decision::Paid));
        assert!(
            (1_850..2_150).contains(&share(Decision::Cancelled)),
            "{}",
            share(Decision::Cancelled)
        );
        assert!((0..10_000).all(|number| decisions.decision(number) == all[number as usize]));
    }

    #[test]
    fn without_a_hold_there_is_nothing_to_pay() {
        assert!(decisions("").is_none());
        assert!(decisions("--managed").is_none());
        assert!(decisions("--managed --hold 5ms --pay-share 0").is_none());
        let cancelling = decisions("--managed --cancel-share 1").unwrap();
        assert_eq!(cancelling.decision(3), Decision::Cancelled);
    }

    #[test]
    fn answers_are_counted_by_what_was_asked() {
        let mut payments = Payments::default();
        assert!(payments.count(Decision::Paid, 3) && payments.count(Decision::Cancelled, 1));
        assert!(!payments.count(Decision::Paid, 4) && !payments.count(Decision::Cancelled, -1));
        assert_eq!(payments, Payments { confirmed: [0, 0, 0, 1], cancelled: [0, 1, 0] });
    }
}
