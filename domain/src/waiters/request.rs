//! What a waiter wants, since when and until when.

use crate::sessions::ConnectionId;
use std::rc::Rc;

/// What a waiter wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub token: Rc<[u8]>,
    pub lease_ms: i64,
    pub with_fence: bool,
    /// The connection that the lock is to be tied to.
    pub connection: Option<ConnectionId>,
}

/// When a waiter came and when it wants to give up.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub since_ms: i64,
    pub until_ms: i64,
}

impl Wait {
    /// How long it has lasted; 0 when the clock was set back.
    pub(super) fn lasted_ms(self, now_ms: i64) -> u64 {
        u64::try_from(now_ms.saturating_sub(self.since_ms)).unwrap_or(0)
    }
}
