//! The names made last, and what is known of the voucher tried last: kept because a flash sale is
//! one voucher at a time. A larger cache would have to be searched, for tries that are rare.

use crate::keyspace::configured::Configured;
use crate::keyspace::counter::Counter;
use crate::keyspace::pool::PoolKeys;
use crate::keyspace::terms::ReadTerms;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::server::MainThread;
use std::ffi::CStr;
use std::rc::Rc;

/// Names are functions of a voucher, a pool or a prefix and of the settings, so they can't be
/// stale: each carries what it was made of. What is *known* of a voucher's keys ends with events.
#[derive(Default)]
pub(crate) struct NameCache {
    pub(super) configured: MainThread<Option<Rc<Configured>>>,
    pub(super) voucher: MainThread<Option<Rc<VoucherKeys>>>,
    pub(super) pool: MainThread<Option<Rc<PoolKeys>>>,
    pub(super) counter: MainThread<Option<Rc<Counter>>>,
    pub(super) terms: MainThread<Option<Rc<ReadTerms>>>,
}

impl NameCache {
    /// Something happened to a key: what is known of the voucher tried last may be wrong.
    pub(crate) fn on_key(&self, event: &CStr, key: &[u8]) {
        if let Some(voucher) = self.voucher.cloned() {
            voucher.on_key(event, key);
        }
    }

    /// Anything may have happened to any key, or the clock may have been set back: nothing is known
    /// of the voucher tried last.
    pub(crate) fn forget_voucher(&self) {
        self.voucher.set(None);
    }
}

/// In a cluster, what takes a key from this node, or off this node's record of it.
pub(super) fn is_departure(event: &CStr) -> bool {
    [c"del", c"expired", c"evicted", c"rename_from", c"move_from"].contains(&event)
}
