//! Faults of carts, which the model must find.

use crate::bounds::{is_set, order};
use crate::carts::{CartOf, Carts, Course};
use crate::world::Error;
use domain::carts::{ArticleAnswer, Cart};
use domain::facts::Refusal;
use domain::plan::{Decision, Plan, Take};
use domain::sale::TryOutcome;
use domain::tries::{self, Wish};
use stateright::{Checker, Model};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// What was written before a late refusal stays.
    HalfCart,
    /// A repeat buys what the first try of the id did not name.
    CompletesCart,
    /// After overdue holds were released, only their articles are decided.
    ForgetsArticle,
    /// An overdue hold is released by two plans.
    ReleasesTwice,
    /// Overdue holds of one article only are released.
    ExpiresOne,
    /// Overdue holds are not released.
    NeverExpires,
    /// What could be had of a refused cart is answered 0.
    SaysTaken,
    /// What could be had of a refused cart is taken.
    TakesPart,
    /// Nothing is decided after the first refusal.
    StopsAtRefusal,
    /// Each part is held as long as its own voucher says.
    OwnDeadlines,
    /// Vouchers with reservations and without are sold as one.
    MixesHolds,
    /// A part that was released is answered 0.
    ForgetsRelease,
    /// An order of another user is answered as a repeat.
    AnyUser,
}

const ALL: [Fault; 13] = [
    Fault::HalfCart,
    Fault::CompletesCart,
    Fault::ForgetsArticle,
    Fault::ReleasesTwice,
    Fault::ExpiresOne,
    Fault::NeverExpires,
    Fault::SaysTaken,
    Fault::TakesPart,
    Fault::StopsAtRefusal,
    Fault::OwnDeadlines,
    Fault::MixesHolds,
    Fault::ForgetsRelease,
    Fault::AnyUser,
];

type Decided = Result<Cart<u8>, Error>;

impl Fault {
    /// What is decided instead.
    pub fn decide(
        self,
        course: &mut Course,
        articles: &[usize],
        cart: &CartOf,
        decided: Decided,
    ) -> Decided {
        match (self, decided) {
            (Self::CompletesCart, Err(Error::Refused(Refusal::OrderId))) => {
                let order = order(cart.user, cart.id, cart.units);
                let each = articles.iter().map(|of| course.a_try(*of, &order));
                if each.collect::<Result<Vec<_>, _>>().is_ok_and(|all| all == [0, 0]) {
                    return Ok(Cart::Refused(articles.iter().map(|_| accepted()).collect()));
                }
                Err(Error::Refused(Refusal::OrderId))
            }
            (Self::AnyUser, Err(Error::Refused(Refusal::OrderId))) => {
                Ok(Cart::Refused(articles.iter().map(|_| accepted()).collect()))
            }
            (Self::MixesHolds, Err(Error::Refused(Refusal::MixedHolds))) => {
                let takes = articles.iter().filter_map(|of| take(course, *of, cart));
                let takes: Vec<_> = takes.collect();
                if takes.len() < articles.len() {
                    return Err(Error::Refused(Refusal::MixedHolds));
                }
                Ok(Cart::Made(takes))
            }
            (Self::NeverExpires, Ok(Cart::ExpireFirst(_))) => Ok(Cart::Refused(
                articles
                    .iter()
                    .map(|_| TryOutcome::SoldOut.into())
                    .map(ArticleAnswer::Tried)
                    .collect(),
            )),
            (Self::TakesPart, Ok(Cart::Refused(mut parts))) => {
                for (of, part) in articles.iter().zip(parts.iter_mut()) {
                    if *part == ArticleAnswer::NotTaken
                        && let Some(take) = take(course, *of, cart)
                    {
                        course.apply(*of, Plan::Take(take));
                        *part = accepted();
                    }
                }
                Ok(Cart::Refused(parts))
            }
            (Self::StopsAtRefusal, Ok(Cart::Refused(mut parts))) => {
                let refused = parts.iter().position(|part| *part != ArticleAnswer::NotTaken);
                let rest = parts.iter_mut().skip(refused.unwrap_or(0) + 1);
                rest.for_each(|part| *part = ArticleAnswer::NotTaken);
                Ok(Cart::Refused(parts))
            }
            (Self::OwnDeadlines, Ok(Cart::Made(mut takes))) => {
                for (of, take) in articles.iter().zip(&mut takes) {
                    let hold = course.worlds[*of].rules.and_then(|rules| rules.hold);
                    if let (Some(booked), Some(hold)) = (&mut take.booked, hold) {
                        booked.entry.deadline = crate::world::NOW + hold;
                    }
                }
                Ok(Cart::Made(takes))
            }
            (_, decided) => decided,
        }
    }
}

fn accepted() -> ArticleAnswer {
    ArticleAnswer::Tried(TryOutcome::Accepted.into())
}

/// The plan of a try of one article alone.
fn take(course: &Course, of: usize, cart: &CartOf) -> Option<Take<u8>> {
    let order = order(cart.user, cart.id, cart.units);
    match tries::decide(&course.view(of), &order, Wish::PLAIN, true) {
        Ok(Decision::Do(_, Plan::Take(take))) => Some(take),
        _ => None,
    }
}

#[test]
fn carts_take_every_course() {
    let commands = if is_set("BRIEF") {
        2
    } else if is_set("SOAK") {
        5
    } else {
        4
    };
    let checker = Carts { fault: None, commands, ticks: 2 }.checker().spawn_bfs().join();
    let (unique, generated) = (checker.unique_state_count(), checker.state_count());
    println!("carts: {unique} states, {generated} generated, depth {}", checker.max_depth());
    checker.assert_properties();
}

#[test]
fn planted_faults_of_carts_are_found() {
    for fault in ALL {
        let checker = Carts { fault: Some(fault), commands: 3, ticks: 2 }.checker();
        let checker = checker.spawn_bfs().join();
        let found = checker.discovery("nothing is wrong");
        let path = found.unwrap_or_else(|| panic!("not found: {fault:?}"));
        let (length, word) = (path.clone().into_actions().len(), path.last_state().bad);
        println!("{fault:?}: {length} steps, {}", word.unwrap_or_default());
    }
}
