//! What a waiter requests, and its wait.

use crate::sessions::ConnectionId;
use std::rc::Rc;

/// What a waiter requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub token: Rc<[u8]>,
    pub lease_ms: i64,
    pub with_fence: bool,
    /// The connection to tie the lock to, if any.
    pub connection: Option<ConnectionId>,
}

/// When a waiter joined, and when its wait ends.
#[derive(Clone, Copy, Debug)]
pub struct Wait {
    pub since_ms: i64,
    pub until_ms: i64,
}

impl Wait {
    /// How long it has lasted; 0 if the clock was set back.
    pub(super) fn lasted_ms(self, now_ms: i64) -> u64 {
        u64::try_from(now_ms.saturating_sub(self.since_ms)).unwrap_or(0)
    }
}
