//! Faults that are planted into facts and plans, to show that the model finds what is wrong.

use domain::lock::fence::Fence;
use domain::lock::queue::{LockQueue, LockWaiter};
use domain::lock::{Grant, Holder, LockWrite, QueueStep};

use crate::model::{Planned, Token};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    /// A lease counts as over in its last millisecond.
    LeaseEndsEarly,
    /// A newcomer does not ask whether somebody waits.
    QueueNotAsked,
    /// A client that was granted the lock, and is not answered yet, does not count as waiting.
    GrantNotCounted,
    /// The last in the queue is the first.
    LastFirst,
    /// The number of another token is issued again.
    NumberOfAnother,
    /// The last number is not known.
    NumberForgotten,
    /// A grant counts as known although its client has gone.
    LostGrantTrusted,
    /// A lock whose client has gone is not released.
    LostGrantKept,
    /// A grant that a renewal has confirmed is undone.
    ConfirmedGrantUndone,
    /// The end of a lease is not looked at.
    EndNotLookedAt,
    /// A repeat does not take over the place of its token.
    PlaceNotTakenOver,
    /// A repeat takes the lock as if nobody held it.
    RepeatTakesAnew,
    /// A lock is granted without being written.
    GrantNotWritten,
    /// Another token than the owner's releases the lock.
    ForeignRelease,
}

impl Fault {
    /// All but none.
    pub const PLANTED: [Self; 14] = [
        Self::LeaseEndsEarly,
        Self::QueueNotAsked,
        Self::GrantNotCounted,
        Self::LastFirst,
        Self::NumberOfAnother,
        Self::NumberForgotten,
        Self::LostGrantTrusted,
        Self::LostGrantKept,
        Self::ConfirmedGrantUndone,
        Self::EndNotLookedAt,
        Self::PlaceNotTakenOver,
        Self::RepeatTakesAnew,
        Self::GrantNotWritten,
        Self::ForeignRelease,
    ];

    pub fn holder(self, holder: Holder, now: i64) -> Holder {
        match (self, holder) {
            (Self::LeaseEndsEarly, Holder::Another { ends_at_ms: Some(end) }) if end <= now => {
                Holder::Nobody
            }
            (Self::RepeatTakesAnew, Holder::ThisToken { .. }) => Holder::Nobody,
            (Self::ForeignRelease, Holder::Another { ends_at_ms }) => {
                Holder::ThisToken { ends_at_ms }
            }
            (_, holder) => holder,
        }
    }

    pub fn fence(self, fence: Fence) -> Fence {
        match self {
            Self::NumberOfAnother => Fence { is_own: true, ..fence },
            Self::NumberForgotten => Fence::NONE,
            _ => fence,
        }
    }

    pub fn is_waited_for(self, is_waited_for: bool, in_queue: usize) -> bool {
        match self {
            Self::QueueNotAsked => false,
            Self::GrantNotCounted => in_queue > 0,
            _ => is_waited_for,
        }
    }

    pub fn grant(self, grant: Grant<Token>) -> Grant<Token> {
        match self {
            Self::LostGrantTrusted => Grant { has_client: true, ..grant },
            Self::ConfirmedGrantUndone => Grant { is_confirmed: false, ..grant },
            _ => grant,
        }
    }

    pub fn head(self, queue: &LockQueue<Token, usize>) -> Option<&LockWaiter<Token, usize>> {
        match self {
            Self::LastFirst => queue.waiters().last(),
            _ => queue.head(),
        }
    }

    pub fn edit(self, plan: &mut Planned) {
        match (self, plan.queue, plan.lock) {
            (Self::LostGrantKept, Some(QueueStep::Return), _) => plan.lock = None,
            (Self::EndNotLookedAt, Some(QueueStep::LookAt(_)), _) => plan.queue = None,
            (Self::PlaceNotTakenOver, Some(QueueStep::TakeOver), _) => plan.queue = None,
            (
                Self::GrantNotWritten,
                Some(QueueStep::Grant { .. }),
                Some(LockWrite::Take { .. }),
            ) => {
                plan.lock = None;
            }
            _ => {}
        }
    }
}
