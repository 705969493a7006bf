//! Decides carts: one order of several managed vouchers, all of them or none.
//!
//! Each article is decided as a try alone, also after the first refusal, so that a buyer hears at
//! once of every article that can't be had. The parts of a cart are orders like any other.

use crate::facts::{Facts, Refusal, managed};
use crate::few::Few;
use crate::plan::{Decision, Order, Plan, Take};
use crate::sale::TryOutcome;
use crate::tries::{self, EXPIRED_MAX, TryAnswer, Wish};

/// The maximum of articles per cart.
pub const ARTICLES_MAX: usize = 32;

/// What a cart is answered about one article.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArticleAnswer {
    /// The same as a try of it alone.
    Tried(TryAnswer),
    /// It could be had, and was left because another article could not.
    NotTaken,
}

impl ArticleAnswer {
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
    Refused(Few<ArticleAnswer, ARTICLES_MAX>),
    /// The order is in every book: each article is to be tried alone, which answers it again.
    Repeated,
    /// Every article is accepted: all of this is to be written, or nothing.
    Made(Vec<Take<N>>),
    /// These orders of these articles are to be expired first, as far as possible; then the whole
    /// cart is to be decided again, as expired.
    ExpireFirst(Vec<(usize, Vec<N>)>),
}

/// A cart that is being decided: article by article, of the same user and order id. Articles may
/// share a stream, which only the facts of one may have open.
///
/// A cart that is refused for its first article allocates nothing.
pub struct Deciding<N> {
    /// Overdue orders were released for it already.
    expired: bool,
    parts: Few<ArticleAnswer, ARTICLES_MAX>,
    held: usize,
    repeats: usize,
    /// Of the articles before the first that is refused.
    takes: Vec<Take<N>>,
    due: Vec<(usize, Vec<N>)>,
}

impl<N: Clone + Eq> Deciding<N> {
    pub fn new(expired: bool) -> Self {
        let (takes, due) = (Vec::new(), Vec::new());
        Self { expired, parts: Few::default(), held: 0, repeats: 0, takes, due }
    }

    /// The next article, which is decided as a try alone. Its error is that of the cart.
    pub fn article<F: Facts<Name = N>>(
        &mut self,
        facts: &F,
        order: &Order<N>,
    ) -> Result<(), F::Error> {
        let rules = managed(facts)?;
        let part = match tries::managed(facts, &rules, order, Wish::PLAIN, self.expired)? {
            Decision::Answer(answer) => ArticleAnswer::Tried(answer),
            Decision::Do(answer, _) if answer.is_repeat => {
                self.repeats = self.repeats.saturating_add(1);
                ArticleAnswer::Tried(answer)
            }
            Decision::Do(_, Plan::Take(take)) => {
                if self.is_accepted() {
                    self.takes.push(take);
                }
                ArticleAnswer::NotTaken
            }
            Decision::Do(..) => ArticleAnswer::NotTaken,
            Decision::ExpireFirst(ids) => {
                self.due.push((self.parts.len(), ids));
                ArticleAnswer::Tried(TryOutcome::SoldOut.into())
            }
        };
        self.held = self.held.saturating_add(rules.hold.is_some().into());
        self.parts.push(part);
        Ok(())
    }

    /// Is every article so far accepted?
    pub fn is_accepted(&self) -> bool {
        self.takes.len() == self.parts.len()
    }

    /// What becomes of the cart. An order that is in some books only is another cart, or was made
    /// by a try: it is never completed.
    pub fn end(self) -> Result<Cart<N>, Refusal> {
        let articles = self.parts.len();
        if self.repeats > 0 {
            let is_whole = self.repeats == articles;
            return if is_whole { Ok(Cart::Repeated) } else { Err(Refusal::OrderId) };
        }
        if self.held > 0 && self.held < articles {
            return Err(Refusal::MixedHolds);
        }
        if !self.due.is_empty() {
            return Ok(Cart::ExpireFirst(bounded(self.due)));
        }
        if !self.is_accepted() {
            return Ok(Cart::Refused(self.parts));
        }
        Ok(Cart::Made(until_one_moment(self.takes)))
    }
}

/// As much as a try may expire, in all.
fn bounded<N>(mut due: Vec<(usize, Vec<N>)>) -> Vec<(usize, Vec<N>)> {
    let mut left = EXPIRED_MAX;
    due.retain_mut(|(_, ids)| {
        ids.truncate(left);
        left = left.saturating_sub(ids.len());
        !ids.is_empty()
    });
    due
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
