//! Whether a recorded history of one object is linearizable: whether its commands, each at one
//! moment between the sending and the answer, one after the other, give the answers that were got.
//!
//! The method is Wing and Gong's with Lowe's memory, the one of porcupine: try what could come
//! next, and never look twice at the same commands done with the same state left. A server answers
//! a connection in the order of sending, so what is done is a place in each connection's commands.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

/// A command that was sent. Without an answer it happened at some time after, or never, and is the
/// last of its connection or followed by more of that kind.
#[derive(Clone, Debug)]
pub struct Op<C> {
    pub command: C,
    /// Since the history began.
    pub call: Duration,
    pub back: Option<(Duration, Vec<i64>)>,
}

impl<C> Op<C> {
    /// When it had happened at the latest.
    pub fn end(&self) -> Duration {
        self.back.as_ref().map_or(Duration::MAX, |(at, _)| *at)
    }

    /// Whether this can have been its answer.
    pub fn may_be(&self, reply: &[i64]) -> bool {
        self.back.as_ref().is_none_or(|(_, heard)| heard == reply)
    }
}

/// What each connection sent, in order.
pub type History<C> = Vec<Vec<Op<C>>>;

/// What the object does when one command comes after the other.
pub trait Model: Clone + Eq + Hash + Debug {
    type Command: Debug;

    /// All that can be after this command, with the answer that it got. None if it can't have got
    /// it, several where the time or an unknown answer leaves a choice.
    fn step(&self, op: &Op<Self::Command>) -> Vec<Self>;
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Linearizable,
    /// With the commands that nothing goes on with.
    Impossible(String),
    /// So much was open at once that it would take too long.
    Undecided,
}

/// How many states are looked at before a history counts as undecided.
const STATES: usize = 300_000;

pub fn check<M: Model>(start: M, history: &[Vec<Op<M::Command>>]) -> Verdict {
    let mut seen = HashSet::new();
    let mut furthest = (0, String::new());
    let mut left = vec![(vec![0_usize; history.len()], start)];
    while let Some((done, state)) = left.pop() {
        if !seen.insert((done.clone(), state.clone())) {
            continue;
        }
        if seen.len() > STATES {
            return Verdict::Undecided;
        }
        let heads = history.iter().zip(&done).enumerate();
        let mut heads: Vec<_> =
            heads.filter_map(|(by, (ops, at))| Some((by, ops.get(*at)?))).collect();
        if heads.iter().all(|(_, op)| op.back.is_none()) {
            return Verdict::Linearizable;
        }
        let count = done.iter().sum();
        if count > furthest.0 {
            furthest = (count, format!("after {count} commands, {state:?}, of {heads:?}"));
        }
        // A command that was answered before another was sent comes before that other.
        let bound = heads.iter().map(|(_, op)| op.end()).min().unwrap_or_default();
        heads.retain(|(_, op)| op.call <= bound);
        // The likeliest is looked at first, that is put down last.
        heads.sort_by_key(|(_, op)| std::cmp::Reverse(op.end()));
        let from = left.len();
        for (by, op) in heads {
            let mut more = done.clone();
            more[by] += 1;
            let states = state.step(op);
            if op.back.is_some() && states.len() == 1 && states[0] == state {
                // With this answer it changes nothing, so it can just as well come now.
                left.truncate(from);
                left.push((more, state));
                break;
            }
            left.extend(states.into_iter().map(|state| (more.clone(), state)));
        }
    }
    Verdict::Impossible(furthest.1)
}
