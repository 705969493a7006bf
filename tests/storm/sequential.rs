//! The behavior of one voucher and of one lock when commands run in sequence: the models for
//! recorded histories.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::linear::{History, Model, Op};

/// A managed voucher with a hold that does not end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sale {
    pub left: i64,
    pub limit: i64,
    /// Order id to user, units, state ('h'eld, 's'old, 'w'aiting or 'c'ancelled) and reference of
    /// the payment, 0 for none.
    pub orders: BTreeMap<u8, (u8, i64, char, u8)>,
    /// Reference to order id, and what a confirmation with it is answered again.
    pub payments: BTreeMap<u8, (u8, i64)>,
    /// The ids of orders that wait, the first in line first.
    pub line: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
pub enum OnSale {
    Try {
        user: u8,
        id: u8,
        units: i64,
        waits: bool,
    },
    /// Three tries for one unit each, user and order id.
    Batch([(u8, u8); 3]),
    /// With the reference of a payment; 0 for none.
    Confirm {
        user: u8,
        id: u8,
        reference: u8,
    },
    /// By a deadline that is never reached.
    Extend {
        user: u8,
        id: u8,
    },
    /// With a letter: only if the order is held, or sold.
    Cancel {
        user: u8,
        id: u8,
        only: Option<char>,
    },
    /// Answers the units left, held and sold.
    Info,
}

/// Represents the error ORDERID.
pub const ORDERID: i64 = -1;
/// Represents the error REF.
pub const OTHER_ORDER: i64 = -2;

impl Sale {
    fn units(&self, of: impl Fn(u8, char) -> bool) -> i64 {
        self.orders.values().filter(|(user, _, is, _)| of(*user, *is)).map(|order| order.1).sum()
    }

    fn confirm(&mut self, user: u8, id: u8, reference: u8) -> i64 {
        if let Some((of, again)) = self.payments.get(&reference) {
            return if *of == id { *again } else { OTHER_ORDER };
        }
        let (answer, again) = match self.orders.get_mut(&id) {
            Some((owner, _, is, known)) if *owner == user => match *is {
                'h' => {
                    (*is, *known) = ('s', reference);
                    (1, 2)
                }
                's' if reference != 0 && *known != 0 => (5, 5),
                's' => {
                    *known = reference.max(*known);
                    (2, 2)
                }
                'w' => (0, 0),
                _ => (3, 3),
            },
            _ => (0, 0),
        };
        if reference != 0 {
            self.payments.insert(reference, (id, again));
        }
        answer
    }

    /// Gives units to the first in line, as long as there are enough.
    fn serve(&mut self) {
        while let Some(first) = self.line.first().and_then(|id| self.orders.get_mut(id))
            && first.1 <= self.left
        {
            self.left -= first.1;
            first.2 = 'h';
            self.line.remove(0);
        }
    }

    pub fn apply(&mut self, command: OnSale) -> Vec<i64> {
        let outcome = match command {
            OnSale::Try { user, id, units, waits } => match self.orders.get(&id) {
                Some((owner, ..)) if *owner != user => ORDERID,
                Some((_, _, 'c', _)) => 5,
                Some((_, has, ..)) if *has != units => ORDERID,
                Some((_, _, 'w', _)) => 6,
                Some(_) => 0,
                None if self.units(|u, is| u == user && is != 'c') + units > self.limit => 2,
                None if (self.left < units || !self.line.is_empty()) && waits => {
                    self.orders.insert(id, (user, units, 'w', 0));
                    self.line.push(id);
                    6
                }
                None if self.left < units || !self.line.is_empty() => 1,
                None => {
                    self.left -= units;
                    self.orders.insert(id, (user, units, 'h', 0));
                    0
                }
            },
            OnSale::Batch(pairs) => {
                let one = |(user, id)| self.apply(OnSale::Try { user, id, units: 1, waits: false });
                return pairs.into_iter().flat_map(one).collect();
            }
            OnSale::Confirm { user, id, reference } => self.confirm(user, id, reference),
            OnSale::Extend { user, id } => match self.orders.get(&id) {
                Some((owner, _, is, _)) if *owner == user => match is {
                    'h' => 1,
                    's' => 2,
                    'w' => 0,
                    _ => 3,
                },
                _ => 0,
            },
            OnSale::Cancel { user, id, only } => match self.orders.get_mut(&id) {
                Some((owner, _, is, _))
                    if *owner == user && *is != 'c' && only.is_some_and(|only| only != *is) =>
                {
                    3
                }
                Some((owner, units, is, known)) if *owner == user => {
                    let was = std::mem::replace(is, 'c');
                    if was == 'c' {
                        return vec![2];
                    }
                    self.left += if was == 'w' { 0 } else { *units };
                    self.payments.entry(*known).and_modify(|payment| payment.1 = 4);
                    self.line.retain(|waiting| *waiting != id);
                    self.serve();
                    1
                }
                _ => 0,
            },
            OnSale::Info => {
                return vec![
                    self.left,
                    self.units(|_, is| is == 'h'),
                    self.units(|_, is| is == 's'),
                ];
            }
        };
        vec![outcome]
    }
}

impl Model for Sale {
    type Command = OnSale;

    fn step(&self, op: &Op<OnSale>) -> Vec<Self> {
        let mut next = self.clone();
        let reply = next.apply(op.command);
        if op.may_be(&reply) { vec![next] } else { Vec::new() }
    }
}

/// A lock with fencing tokens and leases that end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Lock {
    owner: Option<Owner>,
    /// The greatest fencing token in an answer, and whether it is the latest one.
    fence: i64,
    is_latest: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Owner {
    token: u8,
    /// The earliest and the latest time at which the lease ends.
    ends: [Duration; 2],
}

#[derive(Clone, Copy, Debug)]
pub enum OnLock {
    Acquire {
        token: u8,
        lease: Duration,
        wait_ms: u64,
        /// May other clients have been in line? Then a free lock is theirs.
        is_late: bool,
    },
    Renew {
        token: u8,
        lease: Duration,
    },
    Release {
        token: u8,
    },
}

/// The server's clocks count whole milliseconds.
const CLOCK_STEP: Duration = Duration::from_millis(2);

/// Marks acquisitions before which other clients may have been in line.
pub fn mark_late(history: &mut History<OnLock>) {
    let waits = |op: &Op<OnLock>| match op.command {
        OnLock::Acquire { wait_ms, .. } => (wait_ms > 0).then(|| (op.call, op.end())),
        _ => None,
    };
    let waits: Vec<Vec<_>> =
        history.iter().map(|ops| ops.iter().filter_map(waits).collect()).collect();
    for (by, ops) in history.iter_mut().enumerate() {
        for op in ops {
            let (call, end) = (op.call, op.end());
            if let OnLock::Acquire { is_late, .. } = &mut op.command {
                let others = waits.iter().enumerate().filter(|(other, _)| *other != by);
                let mut others = others.flat_map(|(_, waits)| waits);
                *is_late = others.any(|wait| wait.0 <= end && wait.1 >= call);
            }
        }
    }
}

impl Lock {
    pub const FREE: Self = Self { owner: None, fence: 0, is_latest: true };

    /// The possible states when this command runs: with the lease, without it, or both.
    fn at(&self, op: &Op<OnLock>) -> Vec<Self> {
        let Some(owner) = self.owner else { return vec![self.clone()] };
        let mut all = Vec::new();
        if op.call <= owner.ends[1] {
            all.push(self.clone());
        }
        if op.end() >= owner.ends[0] {
            all.push(Self { owner: None, ..self.clone() });
        }
        all
    }

    fn after(mut self, op: &Op<OnLock>) -> Option<Self> {
        let heard = op.back.as_ref().and_then(|(_, reply)| reply.first().copied());
        let lasting = |token, lease: Duration| {
            let latest = op.end().saturating_add(lease + CLOCK_STEP);
            // A grant whose answer is lost is undone, soon or never.
            let lease = if op.back.is_some() { lease } else { Duration::ZERO };
            Some(Owner { token, ends: [(op.call + lease).saturating_sub(CLOCK_STEP), latest] })
        };
        if let (OnLock::Acquire { is_late: true, .. }, Some(0), None) =
            (op.command, heard, self.owner)
        {
            return Some(self);
        }
        let is_of = |token| self.owner.is_some_and(|owner| owner.token == token);
        let reply = match op.command {
            OnLock::Acquire { token, lease, .. } if self.owner.is_none() || is_of(token) => {
                let is_new = self.owner.is_none();
                match heard {
                    Some(fence) if fence > self.fence && (is_new || !self.is_latest) => {
                        (self.fence, self.is_latest) = (fence, true);
                    }
                    Some(fence) if is_new || fence != self.fence => return None,
                    Some(_) => {}
                    None => self.is_latest &= !is_new,
                }
                self.owner = lasting(token, lease);
                return Some(self);
            }
            OnLock::Acquire { .. } => 0,
            OnLock::Renew { token, lease } if is_of(token) => {
                self.owner = lasting(token, lease);
                1
            }
            OnLock::Release { token } if is_of(token) => {
                self.owner = None;
                1
            }
            OnLock::Renew { .. } | OnLock::Release { .. } => 0,
        };
        op.may_be(&[reply]).then_some(self)
    }
}

impl Model for Lock {
    type Command = OnLock;

    fn step(&self, op: &Op<OnLock>) -> Vec<Self> {
        self.at(op).into_iter().filter_map(|lock| lock.after(op)).collect()
    }
}
