//! Counters since the module was loaded, and one gauge, shown by `INFO seckill`.

use std::ffi::CStr;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// One counter.
pub(crate) struct Counter(AtomicU64);

impl Counter {
    const fn new() -> Self {
        Self(AtomicU64::new(0))
    }

    /// Counts one more.
    ///
    /// Only the main thread counts, so a load and a store do, which cost less than one locked step.
    pub(crate) fn count(&self) {
        self.0.store(self.0.load(Relaxed).wrapping_add(1), Relaxed);
    }

    /// Counts so many more.
    pub(crate) fn add(&self, more: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(more), Relaxed);
    }

    /// What is shown goes up and down: now it is this.
    pub(crate) fn set(&self, value: u64) {
        self.0.store(value, Relaxed);
    }

    pub(crate) fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    fn reset(&self) {
        self.0.store(0, Relaxed);
    }
}

pub(crate) static TRIES_ACCEPTED: Counter = Counter::new();
pub(crate) static TRIES_SOLD_OUT: Counter = Counter::new();
pub(crate) static TRIES_ALREADY_BOUGHT: Counter = Counter::new();
pub(crate) static TRIES_NOT_STARTED: Counter = Counter::new();
pub(crate) static TRIES_ENDED: Counter = Counter::new();
pub(crate) static TRIES_REPEATED: Counter = Counter::new();
pub(crate) static ORDERS_CONFIRMED: Counter = Counter::new();
pub(crate) static ORDERS_CANCELLED: Counter = Counter::new();
pub(crate) static ORDERS_EXPIRED: Counter = Counter::new();
pub(crate) static ORDERS_REJECTED: Counter = Counter::new();
pub(crate) static LOCKS_ACQUIRED: Counter = Counter::new();
pub(crate) static LOCKS_REFUSED: Counter = Counter::new();
pub(crate) static LOCKS_RELEASED: Counter = Counter::new();
/// How many clients are in line now.
pub(crate) static LOCKS_WAITING: Counter = Counter::new();
/// The time that clients were in line, counted when they leave it.
pub(crate) static LOCKS_WAITED_MS: Counter = Counter::new();
pub(crate) static PRIZES_DRAWN: Counter = Counter::new();
/// Calls of scripts that became commands.
pub(crate) static SCRIPTS_REPLACED: Counter = Counter::new();

/// Every counter under the name of its field, in the order shown. Names are never changed.
pub(crate) static FIELDS: [(&CStr, &Counter); 17] = [
    (c"tries_accepted", &TRIES_ACCEPTED),
    (c"tries_sold_out", &TRIES_SOLD_OUT),
    (c"tries_already_bought", &TRIES_ALREADY_BOUGHT),
    (c"tries_not_started", &TRIES_NOT_STARTED),
    (c"tries_ended", &TRIES_ENDED),
    (c"tries_repeated", &TRIES_REPEATED),
    (c"orders_confirmed", &ORDERS_CONFIRMED),
    (c"orders_cancelled", &ORDERS_CANCELLED),
    (c"orders_expired", &ORDERS_EXPIRED),
    (c"orders_rejected", &ORDERS_REJECTED),
    (c"locks_acquired", &LOCKS_ACQUIRED),
    (c"locks_refused", &LOCKS_REFUSED),
    (c"locks_released", &LOCKS_RELEASED),
    (c"locks_waiting", &LOCKS_WAITING),
    (c"locks_waited_ms_total", &LOCKS_WAITED_MS),
    (c"prizes_drawn", &PRIZES_DRAWN),
    (c"scripts_replaced", &SCRIPTS_REPLACED),
];

/// Starts all counters from 0: a library may stay in memory across an unload.
pub(crate) fn reset() {
    FIELDS.iter().for_each(|(_, counter)| counter.reset());
}
