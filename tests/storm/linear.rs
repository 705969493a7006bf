//! Is a recorded history of one object linearizable? It is if its commands, each executed at one
//! moment between its sending and its answer, give these answers in some sequence.
//!
//! The method is Wing and Gong's with Lowe's memory, as in porcupine: try each possible next
//! command, and never examine the same set of executed commands with the same state twice. A server
//! answers a connection in order, so that set is a position in each connection's commands.

use std::collections::HashSet;
use std::fmt::Debug;
use std::hash::Hash;
use std::time::Duration;

/// A command that was sent. Without an answer, it ran at some later time or never, and only such
/// commands follow it on its connection.
#[derive(Clone, Debug)]
pub struct Op<C> {
    pub command: C,
    /// The time since the start of the history.
    pub call: Duration,
    pub back: Option<(Duration, Vec<i64>)>,
}

impl<C> Op<C> {
    /// The latest time at which it had run.
    pub fn end(&self) -> Duration {
        self.back.as_ref().map_or(Duration::MAX, |(at, _)| *at)
    }

    /// Can this have been its answer?
    pub fn may_be(&self, reply: &[i64]) -> bool {
        self.back.as_ref().is_none_or(|(_, heard)| heard == reply)
    }
}

/// What each connection sent, in order.
pub type History<C> = Vec<Vec<Op<C>>>;

/// The effect of one command after another on the object.
pub trait Model: Clone + Eq + Hash + Debug {
    type Command: Debug;

    /// All possible states after this command with the answer that it got. None if it can't have
    /// got this answer; several if the time or an unknown answer leaves a choice.
    fn step(&self, op: &Op<Self::Command>) -> Vec<Self>;
}

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    Linearizable,
    /// With the commands after which nothing fits.
    Impossible(String),
    /// Too many commands were concurrent, and the check would take too long.
    Undecided,
}

/// How many states are examined before a history counts as undecided.
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
        // A command that was answered before another was sent precedes that one.
        let bound = heads.iter().map(|(_, op)| op.end()).min().unwrap_or_default();
        heads.retain(|(_, op)| op.call <= bound);
        // The most likely command is examined first, so it is pushed last.
        heads.sort_by_key(|(_, op)| std::cmp::Reverse(op.end()));
        let from = left.len();
        for (by, op) in heads {
            let mut more = done.clone();
            more[by] += 1;
            let states = state.step(op);
            if op.back.is_some() && states.len() == 1 && states[0] == state {
                // With this answer it changes nothing, so no other position needs a try.
                left.truncate(from);
                left.push((more, state));
                break;
            }
            left.extend(states.into_iter().map(|state| (more.clone(), state)));
        }
    }
    Verdict::Impossible(furthest.1)
}
