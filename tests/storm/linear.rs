//! Is a recorded history of one voucher and one lock linearizable? It is if its commands, each
//! executed at one moment between its sending and its answer, give these answers in some sequence.
//! The model has only commands whose order shows; what each decides is proved in `domain`.
//!
//! The method is Wing and Gong's with Lowe's memory, as in porcupine: try each possible next
//! command, and never examine the same set of executed commands with the same state twice. A server
//! answers a connection in order, so that set is a position in each connection's commands.

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

/// Orders are for one unit, each by its own user. Holds and leases do not end, nobody waits.
#[derive(Clone, Copy, Debug)]
pub enum Command {
    Try(u8),
    Confirm(u8),
    Cancel(u8),
    /// Answers the units left, held and sold.
    Info,
    /// By the client with this token; answers the fencing token, or 0.
    Acquire(u8),
    Release(u8),
}

/// A command that was sent. Without an answer, it ran at some later time or never, and only such
/// commands follow it on its connection.
#[derive(Clone, Debug)]
pub struct Op {
    pub command: Command,
    /// The time since the start of the history.
    pub call: Duration,
    pub back: Option<(Duration, Vec<i64>)>,
}

impl Op {
    /// The latest time at which it had run.
    fn end(&self) -> Duration {
        self.back.as_ref().map_or(Duration::MAX, |(at, _)| *at)
    }
}

/// What each connection sent, in order.
pub type History = Vec<Vec<Op>>;

/// The state of the voucher and of the lock.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State {
    left: i64,
    /// Order id to 'h'eld, 's'old or 'c'ancelled.
    orders: BTreeMap<u8, char>,
    owner: Option<u8>,
    /// The greatest fencing token in an answer, and whether it is the latest one.
    fence: i64,
    is_latest: bool,
}

impl State {
    pub fn start(stock: i64) -> Self {
        Self { left: stock, orders: BTreeMap::new(), owner: None, fence: 0, is_latest: true }
    }

    fn count(&self, state: char) -> i64 {
        self.orders.values().map(|is| i64::from(*is == state)).sum()
    }

    /// The state after this command, or None if it can't have got its answer.
    fn after(mut self, op: &Op) -> Option<Self> {
        let heard = op.back.as_ref().map(|(_, reply)| reply.as_slice());
        let reply = match op.command {
            Command::Try(id) => match self.orders.get(&id) {
                Some('c') => vec![5],
                Some(_) => vec![0],
                None if self.left == 0 => vec![1],
                None => {
                    self.left -= 1;
                    self.orders.insert(id, 'h');
                    vec![0]
                }
            },
            Command::Confirm(id) => match self.orders.get_mut(&id) {
                Some(is @ 'h') => {
                    *is = 's';
                    vec![1]
                }
                Some('s') => vec![2],
                Some(_) => vec![3],
                None => vec![0],
            },
            Command::Cancel(id) => match self.orders.get_mut(&id) {
                Some('c') => vec![2],
                Some(is) => {
                    *is = 'c';
                    self.left += 1;
                    vec![1]
                }
                None => vec![0],
            },
            Command::Info => vec![self.left, self.count('h'), self.count('s')],
            Command::Acquire(token) if self.owner.is_none_or(|owner| owner == token) => {
                let is_new = self.owner.replace(token).is_none();
                match heard {
                    None => self.is_latest &= !is_new,
                    Some([fence]) if *fence > self.fence && (is_new || !self.is_latest) => {
                        (self.fence, self.is_latest) = (*fence, true);
                    }
                    Some([fence]) if *fence == self.fence && !is_new && self.is_latest => {}
                    Some(_) => return None,
                }
                return Some(self);
            }
            Command::Release(token) if self.owner == Some(token) => {
                self.owner = None;
                vec![1]
            }
            Command::Acquire(_) | Command::Release(_) => vec![0],
        };
        heard.is_none_or(|heard| heard == reply).then_some(self)
    }
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

pub fn check(start: State, history: &[Vec<Op>]) -> Verdict {
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
            let Some(after) = state.clone().after(op) else { continue };
            let changes_nothing = op.back.is_some() && after == state;
            if changes_nothing {
                // With this answer no other position needs a try.
                left.truncate(from);
            }
            left.push((more, after));
            if changes_nothing {
                break;
            }
        }
    }
    Verdict::Impossible(furthest.1)
}

#[test]
fn the_checker_finds_answers_that_cannot_be() {
    use Command::{Acquire, Cancel, Info, Release, Try};
    let op = |command, times: [u64; 2], reply: &[i64]| {
        let [call, back] = times.map(Duration::from_millis);
        Op { command, call, back: (!reply.is_empty()).then(|| (back, reply.to_vec())) }
    };
    let sold = op(Try(1), [0, 10], &[0]);
    let open = op(Try(1), [0, 0], &[]);
    let owned = op(Acquire(1), [0, 10], &[7]);
    for (what, can_be, first, second) in [
        ("sold out after the sale", true, &sold, op(Try(2), [11, 12], &[1])),
        ("sold once more after the sale", false, &sold, op(Try(2), [11, 12], &[0])),
        ("sold out in the meantime", true, &sold, op(Try(2), [5, 6], &[1])),
        ("an order that is seen", true, &sold, op(Info, [5, 6], &[0, 1, 0])),
        ("an order that is not seen in time", false, &sold, op(Info, [11, 12], &[1, 0, 0])),
        ("an order that is not seen yet", true, &sold, op(Info, [5, 6], &[1, 0, 0])),
        ("a lost answer of a sale", true, &open, op(Cancel(1), [11, 12], &[1])),
        ("a lost answer of no sale", true, &open, op(Cancel(1), [11, 12], &[0])),
        ("two owners", false, &owned, op(Acquire(2), [11, 12], &[8])),
        ("refused by the owner", true, &owned, op(Acquire(2), [11, 12], &[0])),
        ("the fencing token again", true, &owned, op(Acquire(1), [11, 12], &[7])),
        ("another fencing token", false, &owned, op(Acquire(1), [11, 12], &[8])),
        ("released by somebody else", false, &owned, op(Release(2), [11, 12], &[1])),
    ] {
        let found = check(State::start(1), &[vec![first.clone()], vec![second]]);
        assert_eq!(found == Verdict::Linearizable, can_be, "{what}: {found:?}");
    }
}
