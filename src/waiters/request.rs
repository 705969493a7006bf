//! Who wants which lock, since when and until when.

use std::rc::Rc;

/// A lock, as waiters know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    pub(crate) db: i32,
    pub(crate) key: Rc<[u8]>,
}

/// What a waiter wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) token: Rc<[u8]>,
    pub(crate) lease_ms: i64,
    pub(crate) with_fence: bool,
}

/// When a waiter came and when it wants to give up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Wait {
    pub(crate) since_ms: i64,
    pub(crate) until_ms: i64,
}

/// A grant that nobody will hear of: to be undone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    pub(crate) place: Place,
    pub(crate) token: Rc<[u8]>,
}

impl Wait {
    /// How long it has lasted; 0 when the clock was set back.
    pub(super) fn lasted_ms(self, now_ms: i64) -> u64 {
        u64::try_from(now_ms.saturating_sub(self.since_ms)).unwrap_or(0)
    }
}
