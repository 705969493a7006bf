//! Locks: what acquiring, renewing and releasing one decides, and what serving its queue decides.
//!
//! A decision asks [`LockFacts`], each only when it needs it, and returns an answer and a
//! [`LockPlan`]: what is written, as data. [`mod@queue`] keeps who waits for a lock, [`queues`] all
//! of them.

pub mod bounds;
pub mod fence;
pub mod queue;
pub mod queues;

use crate::sessions::ConnectionId;
use fence::{Exhausted, Fence};

/// The answer to a client that holds the lock and did not ask for a fencing token.
pub const ACQUIRED: i64 = 1;
/// The answer to a client that does not hold the lock.
pub const NOT_ACQUIRED: i64 = 0;

/// What a client asks for. `N` is the bytes of a token or of a user's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockRequest<N> {
    pub token: N,
    pub lease_ms: i64,
    pub with_fence: bool,
    /// The connection to tie the lock to, if any.
    pub session: Option<ConnectionId>,
    /// Whose rights the client has. Needed only of one that waits, or ties the lock.
    pub user: N,
}

/// The holder of a lock, from the view of a client with a token. With the end of the lease, if it
/// ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holder {
    Nobody,
    /// This very token, byte for byte.
    ThisToken {
        ends_at_ms: Option<i64>,
    },
    Another {
        ends_at_ms: Option<i64>,
    },
}

/// A lock that was handed to a client in the queue, which has not been answered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant<N> {
    pub token: N,
    /// Is its client still there, to be answered?
    pub has_client: bool,
    /// Was a command answered that the token holds the lock?
    pub is_confirmed: bool,
}

/// Questions about one lock.
pub trait LockFacts {
    type Name: Clone + AsRef<[u8]>;
    type Error: From<Exhausted>;

    fn holder(&self, token: &[u8]) -> Result<Holder, Self::Error>;
    /// The lock's last fencing token, as seen by the client with this token.
    fn fence(&self, token: &[u8]) -> Result<Fence, Self::Error>;
    /// Is there a fence key, whose life follows the lease?
    fn has_fence(&self) -> bool;
    /// Does a client wait for the lock that has not been answered?
    fn is_waited_for(&self) -> bool;
    /// May the client of the command wait? An error if too many do.
    fn may_wait(&self, token: &[u8]) -> Result<bool, Self::Error>;
    /// An error if the client may not hold the lock although it is free.
    fn check_may_hold(&self, request: &LockRequest<impl AsRef<[u8]>>) -> Result<(), Self::Error>;
    /// The grant that was not answered yet.
    fn grant(&self) -> Option<Grant<Self::Name>>;
    /// The first client in the queue.
    fn head(&self) -> Option<LockRequest<Self::Name>>;
}

/// What is written, in this order. What can be refused is the first: then the rest is left undone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockPlan<N, E> {
    pub token: N,
    pub lock: Option<LockWrite>,
    pub fence: Option<FenceWrite>,
    pub queue: Option<QueueStep<E>>,
}

/// A write to the lock's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockWrite {
    /// The token becomes the value, until then.
    Take {
        until_ms: i64,
    },
    /// The lease ends then. Refused if the lock has expired meanwhile: then all is decided again.
    Extend {
        until_ms: i64,
    },
    Delete,
}

/// A write to the fence key. It outlives the lease, which ends then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FenceWrite {
    /// This number is the last, issued to the plan's token.
    Issue {
        number: i64,
        until_ms: i64,
    },
    Extend {
        until_ms: i64,
    },
}

/// What becomes of the lock's queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueStep<E> {
    /// The client joins it; if its token already waits, at its place. The end of the turn looks.
    Join,
    /// The command holds the lock: a client that waits with its token is answered that it does not.
    TakeOver,
    /// A command was answered that the token holds the lock.
    Confirm,
    /// The lock is free: the end of the turn looks at it.
    Look,
    /// It is held until then, as far as known, and is looked at then.
    LookAt(Option<i64>),
    /// The lock was released, and is for the first in the queue.
    Serve,
    /// The first in the queue holds the lock, and gets this answer.
    Grant { answer: i64 },
    /// The first in the queue gets this error.
    Refuse(E),
    /// The grant was lost: its client waits at its old place.
    Return,
}

/// An answer, or none for a client that waits, and what is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockDecision<N, E> {
    pub answer: Option<i64>,
    pub plan: LockPlan<N, E>,
}

type Decided<F, N> = Result<LockDecision<N, <F as LockFacts>::Error>, <F as LockFacts>::Error>;

/// LOCK.ACQUIRE. On an error nothing is written.
///
/// A token that holds the lock gets a new lease and the answer that it got before, so that a
/// request may be repeated. A free lock that somebody waits for is for the first in the queue.
pub fn acquire<F: LockFacts, N: Clone + AsRef<[u8]>>(
    facts: &F,
    request: &LockRequest<N>,
    now_ms: i64,
) -> Decided<F, N> {
    let token = request.token.as_ref();
    let is_free = match facts.holder(token)? {
        Holder::ThisToken { .. } => return hold(facts, request, true, now_ms),
        Holder::Nobody if !facts.is_waited_for() => return hold(facts, request, false, now_ms),
        Holder::Nobody => true,
        Holder::Another { .. } => false,
    };
    if request.with_fence {
        // Whatever would refuse the acquisition in the end refuses before the wait.
        facts.fence(token)?.next(now_ms)?;
    }
    let (answer, queue) = match facts.may_wait(token)? {
        true => (None, Some(QueueStep::Join)),
        false => (Some(NOT_ACQUIRED), is_free.then_some(QueueStep::Look)),
    };
    let plan = LockPlan { token: request.token.clone(), lock: None, fence: None, queue };
    Ok(LockDecision { answer, plan })
}

/// The token becomes the owner, or stays it if it `is_held` already.
fn hold<F: LockFacts, N: Clone + AsRef<[u8]>>(
    facts: &F,
    request: &LockRequest<N>,
    is_held: bool,
    now_ms: i64,
) -> Decided<F, N> {
    facts.check_may_hold(request)?;
    let until_ms = now_ms.saturating_add(request.lease_ms);
    let (answer, fence) = if request.with_fence {
        let fence = facts.fence(request.token.as_ref())?;
        // A number is repeated only to the token that it was issued to, while it holds the lock.
        let number = match fence.last {
            Some(last) if is_held && fence.is_own => last,
            _ => fence.next(now_ms)?,
        };
        (number, Some(FenceWrite::Issue { number, until_ms }))
    } else {
        let extend = FenceWrite::Extend { until_ms };
        (ACQUIRED, (is_held && facts.has_fence()).then_some(extend))
    };
    let lock = if is_held { LockWrite::Extend { until_ms } } else { LockWrite::Take { until_ms } };
    let queue = Some(QueueStep::TakeOver);
    let plan = LockPlan { token: request.token.clone(), lock: Some(lock), fence, queue };
    Ok(LockDecision { answer: Some(answer), plan })
}

/// LOCK.RENEW.
pub fn renew<F: LockFacts, N: AsRef<[u8]>>(
    facts: &F,
    token: N,
    lease_ms: i64,
    now_ms: i64,
) -> Decided<F, N> {
    let until_ms = now_ms.saturating_add(lease_ms);
    let is_held = is_held_by(facts, token.as_ref())?;
    let fence = (is_held && facts.has_fence()).then_some(FenceWrite::Extend { until_ms });
    let lock = is_held.then_some(LockWrite::Extend { until_ms });
    let queue = is_held.then_some(QueueStep::Confirm);
    Ok(LockDecision { answer: Some(is_held.into()), plan: LockPlan { token, lock, fence, queue } })
}

/// LOCK.RELEASE, and the end of a session.
pub fn release<F: LockFacts, N: AsRef<[u8]>>(facts: &F, token: N) -> Decided<F, N> {
    let is_held = is_held_by(facts, token.as_ref())?;
    let (lock, queue) = (is_held.then_some(LockWrite::Delete), is_held.then_some(QueueStep::Serve));
    Ok(LockDecision {
        answer: Some(is_held.into()),
        plan: LockPlan { token, lock, fence: None, queue },
    })
}

fn is_held_by<F: LockFacts>(facts: &F, token: &[u8]) -> Result<bool, F::Error> {
    Ok(matches!(facts.holder(token)?, Holder::ThisToken { .. }))
}

/// The next step of serving a queue: what becomes of the grant that was not answered yet, then of
/// the first in the queue. To be asked again after each step, until it is [`QueueStep::LookAt`]:
/// then the lock is held, and its client may be answered. None when nobody waits.
pub fn serve<F: LockFacts>(facts: &F, now_ms: i64) -> Option<LockPlan<F::Name, F::Error>> {
    let plan = |token, lock, queue| Some(LockPlan { token, lock, fence: None, queue: Some(queue) });
    if let Some(Grant { token, has_client, is_confirmed }) = facts.grant() {
        let lock = match facts.holder(token.as_ref()) {
            Ok(Holder::ThisToken { ends_at_ms }) if has_client || is_confirmed => {
                return plan(token, None, QueueStep::LookAt(ends_at_ms));
            }
            // Nobody will ever know of a lock whose client has gone.
            Ok(Holder::ThisToken { .. }) => Some(LockWrite::Delete),
            _ => None,
        };
        return plan(token, lock, QueueStep::Return);
    }
    let request = facts.head()?;
    let token = request.token.clone();
    let held = match facts.holder(token.as_ref()) {
        Ok(Holder::Another { ends_at_ms }) => {
            return plan(token, None, QueueStep::LookAt(ends_at_ms));
        }
        Ok(holder) => hold(facts, &request, holder != Holder::Nobody, now_ms),
        Err(error) => Err(error),
    };
    match held {
        Ok(LockDecision { answer, plan }) => {
            let grant = QueueStep::Grant { answer: answer.unwrap_or(NOT_ACQUIRED) };
            Some(LockPlan { queue: Some(grant), ..plan })
        }
        Err(error) => plan(token, None, QueueStep::Refuse(error)),
    }
}
