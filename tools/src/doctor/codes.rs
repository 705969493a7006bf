//! What the numbers, texts or booleans that a script replies mean, from what it did when it said
//! them.

use std::collections::BTreeMap;

use crate::reply::Reply;
use crate::scenario::{self, Ran};
use crate::shape::{Shape, Try};
use crate::state::{self, State};

/// All scenarios of one script by their names.
pub type Runs = BTreeMap<&'static str, Ran>;

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Accepted {
    Code(Reply),
    /// The units that are left.
    Left,
    /// Something else each time.
    Varies,
}

/// What a script says for what; nothing where it never said it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Codes {
    pub accepted: Option<Accepted>,
    pub sold_out: Option<Reply>,
    pub bought: Option<Reply>,
    /// To a user who has bought, when all is sold.
    pub bought_and_out: Option<Reply>,
    /// Without a stock key, unless that is an error.
    pub missing: Option<Reply>,
}

/// What a try has changed.
pub struct Change {
    pub units: i64,
    pub buyers: usize,
    pub orders: usize,
}

impl Change {
    pub fn of(shape: &Shape, a_try: &Try, before: &State, after: &State) -> Self {
        let stock = shape.stock_key(a_try);
        let number = |state| state::number(state, &stock).unwrap_or_default();
        let more = |key: Option<Vec<u8>>| {
            key.map_or(0, |key| state::len(after, &key).saturating_sub(state::len(before, &key)))
        };
        Self {
            units: number(before).saturating_sub(number(after)),
            buyers: more(shape.buyers_key(a_try)),
            orders: more(shape.stream_key(a_try)),
        }
    }

    pub fn is_sale(&self) -> bool {
        self.units > 0 || self.buyers > 0 || self.orders > 0
    }

    pub fn is_none(&self) -> bool {
        self.units == 0 && self.buyers == 0 && self.orders == 0
    }
}

impl Codes {
    pub fn of(shape: &Shape, runs: &Runs, tries: &BTreeMap<&'static str, Vec<Try>>) -> Self {
        let mut accepted: Vec<(Reply, i64)> = Vec::new();
        for name in [scenario::BUYS, scenario::LAST, scenario::MANY] {
            let ran = &runs[name];
            for (number, a_try) in tries[name].iter().enumerate() {
                let (before, after) = (&ran.states[number], &ran.states[number + 1]);
                let left = state::number(after, &shape.stock_key(a_try)).unwrap_or_default();
                let reply = &ran.replies[number];
                // What is below zero was oversold, and says nothing of a proper sale.
                if Change::of(shape, a_try, before, after).is_sale()
                    && !reply.is_error()
                    && left >= 0
                {
                    accepted.push((reply.clone(), left));
                }
            }
        }
        let accepted = match accepted.first() {
            None => None,
            Some((first, _)) if accepted.iter().all(|(reply, _)| reply == first) => {
                Some(Accepted::Code(first.clone()))
            }
            Some(_) if accepted.iter().all(|(reply, left)| *reply == Reply::Int(*left)) => {
                Some(Accepted::Left)
            }
            Some(_) => Some(Accepted::Varies),
        };
        let unsold = |name: &str, number: usize| {
            let ran = &runs[name];
            let reply = &ran.replies[number];
            let as_accepted = accepted == Some(Accepted::Code(reply.clone()));
            (ran.silent(number) && !as_accepted).then(|| reply.clone())
        };
        let sold_out = unsold(scenario::SOLD_OUT, 0).filter(|reply| !reply.is_error());
        // Who sells to nobody may say so to everybody, or that they have bought.
        let bought = unsold(scenario::BOUGHT, 1).filter(|reply| {
            !reply.is_error() && (accepted.is_some() || Some(reply) != sold_out.as_ref())
        });
        // It may leave a stock of 0 behind, by taking one off and giving it back.
        let ran = &runs[scenario::MISSING];
        let change = Change::of(shape, &tries[scenario::MISSING][0], ran.before(), ran.after());
        let missing = change.is_none().then(|| ran.first().clone());
        Self {
            sold_out,
            bought,
            bought_and_out: unsold(scenario::BOUGHT_AND_OUT, 1),
            missing: missing.filter(|reply| !reply.is_error()),
            accepted,
        }
    }
}
