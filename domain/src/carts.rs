//! Decides carts: one order of several managed vouchers, all of them or none.
//!
//! Each article is decided as a try alone, also after the first refusal, so that a buyer hears at
//! once of every article that can't be had. The parts of a cart are orders like any other.

use crate::facts::{Facts, Refusal, managed};
use crate::plan::{Decision, Order, Plan, Take};
use crate::sale::Outcome;
use crate::tries::{self, Answer, SETTLED_MAX, Wish};

/// The maximum of articles per cart.
pub const ARTICLES_MAX: usize = 32;

/// What a cart is answered about one article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The same as a try of it alone.
    Tried(Answer),
    /// It could be had, and was left because another article could not.
    NotTaken,
}

impl Part {
    /// The number that clients see of an article that was left.
    pub const NOT_TAKEN: i64 = 7;

    pub fn code(self) -> i64 {
        match self {
            Self::Tried(answer) => answer.outcome.code(),
            Self::NotTaken => Self::NOT_TAKEN,
        }
    }
}

/// A decision about a cart: one element per article, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cart<N> {
    /// Nothing is to be written, and no article is accepted.
    Refused(Vec<Part>),
    /// The order is in every book: its answers again, each with the plan of a repeat.
    Repeated(Vec<(Answer, Plan<N>)>),
    /// Every article is accepted: all of this is to be written, or nothing.
    Made(Vec<Take<N>>),
    /// These orders of these articles are to be expired first, as far as possible; then the whole
    /// cart is to be decided again, as settled.
    Settle(Vec<(usize, Vec<N>)>),
}

/// Decides a cart, by its articles' facts and orders: the same user and id in each. `settled` if
/// overdue orders were released for it already. After each article `rest` lets its facts close what
/// they have open: articles may share a stream.
///
/// The first error of an article is that of the cart. An order that is in some books only is
/// another cart, or was made by a try: it is never completed.
pub fn decide<F: Facts>(
    articles: &[(F, Order<F::Name>)],
    settled: bool,
    rest: impl Fn(&F),
) -> Result<Cart<F::Name>, F::Error> {
    let mut decisions = Vec::with_capacity(articles.len());
    let (mut known, mut held) = (0_usize, 0_usize);
    for (facts, order) in articles {
        let rules = managed(facts)?;
        let decision = tries::managed(facts, &rules, order, Wish::PLAIN, settled)?;
        rest(facts);
        let is_known = matches!(&decision, Decision::Do(answer, _) if answer.is_repeat);
        known = known.saturating_add(is_known.into());
        held = held.saturating_add(rules.hold.is_some().into());
        decisions.push(decision);
    }
    if known == articles.len() {
        return Ok(Cart::Repeated(decisions.into_iter().filter_map(done).collect()));
    }
    if known > 0 {
        return Err(Refusal::OrderId.into());
    }
    if held > 0 && held < articles.len() {
        return Err(Refusal::MixedHolds.into());
    }
    let due = due(&decisions);
    if !due.is_empty() {
        return Ok(Cart::Settle(due));
    }
    if !decisions.iter().all(|it| matches!(it, Decision::Do(_, Plan::Take(_)))) {
        return Ok(Cart::Refused(decisions.iter().map(part).collect()));
    }
    let takes = decisions.into_iter().filter_map(done).filter_map(|(_, plan)| match plan {
        Plan::Take(take) => Some(take),
        _ => None,
    });
    Ok(Cart::Made(until_one_moment(takes.collect())))
}

fn done<N>(decision: Decision<Answer, N>) -> Option<(Answer, Plan<N>)> {
    match decision {
        Decision::Do(answer, plan) => Some((answer, plan)),
        Decision::Answer(_) | Decision::Settle(_) => None,
    }
}

/// What is to be settled first: as much as a try may settle, in all.
fn due<N: Clone>(decisions: &[Decision<Answer, N>]) -> Vec<(usize, Vec<N>)> {
    let mut left = SETTLED_MAX;
    let settled = decisions.iter().enumerate().filter_map(|(number, decision)| match decision {
        Decision::Settle(ids) if left > 0 => {
            let ids: Vec<N> = ids.iter().take(left).cloned().collect();
            left = left.saturating_sub(ids.len());
            Some((number, ids))
        }
        _ => None,
    });
    settled.collect()
}

fn part<N>(decision: &Decision<Answer, N>) -> Part {
    match decision {
        Decision::Answer(answer) => Part::Tried(*answer),
        Decision::Do(..) => Part::NotTaken,
        // A settled try does not settle again.
        Decision::Settle(_) => Part::Tried(Outcome::SoldOut.into()),
    }
}

/// The parts of a cart are held until one moment, the earliest, so that it is paid as one.
fn until_one_moment<N>(mut takes: Vec<Take<N>>) -> Vec<Take<N>> {
    let booked = || takes.iter().filter_map(|take| take.booked.as_ref());
    if let Some(earliest) = booked().filter_map(|booked| booked.hold()).min() {
        let booked = takes.iter_mut().filter_map(|take| take.booked.as_mut());
        booked.for_each(|booked| booked.entry.deadline = earliest);
    }
    takes
}
