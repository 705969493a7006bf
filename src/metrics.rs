//! Counters since the module was loaded, and one gauge, shown by `INFO seckill`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use domain::info::{self, Field};

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
pub(crate) static TRIES_AT_LIMIT: Counter = Counter::new();
pub(crate) static TRIES_NOT_STARTED: Counter = Counter::new();
pub(crate) static TRIES_ENDED: Counter = Counter::new();
pub(crate) static TRIES_REPEATED: Counter = Counter::new();
pub(crate) static ORDERS_CONFIRMED: Counter = Counter::new();
pub(crate) static ORDERS_CANCELLED: Counter = Counter::new();
pub(crate) static ORDERS_EXPIRED: Counter = Counter::new();
pub(crate) static ORDERS_REJECTED: Counter = Counter::new();
/// Those that don't pay their order.
pub(crate) static PAYMENTS_TO_REFUND: Counter = Counter::new();
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

/// Every counter with its field, in the order shown.
pub(crate) static FIELDS: [(&Field, &Counter); 18] = [
    (&info::TRIES_ACCEPTED, &TRIES_ACCEPTED),
    (&info::TRIES_SOLD_OUT, &TRIES_SOLD_OUT),
    (&info::TRIES_AT_LIMIT, &TRIES_AT_LIMIT),
    (&info::TRIES_NOT_STARTED, &TRIES_NOT_STARTED),
    (&info::TRIES_ENDED, &TRIES_ENDED),
    (&info::TRIES_REPEATED, &TRIES_REPEATED),
    (&info::ORDERS_CONFIRMED, &ORDERS_CONFIRMED),
    (&info::ORDERS_CANCELLED, &ORDERS_CANCELLED),
    (&info::ORDERS_EXPIRED, &ORDERS_EXPIRED),
    (&info::ORDERS_REJECTED, &ORDERS_REJECTED),
    (&info::PAYMENTS_TO_REFUND, &PAYMENTS_TO_REFUND),
    (&info::LOCKS_ACQUIRED, &LOCKS_ACQUIRED),
    (&info::LOCKS_REFUSED, &LOCKS_REFUSED),
    (&info::LOCKS_RELEASED, &LOCKS_RELEASED),
    (&info::LOCKS_WAITING, &LOCKS_WAITING),
    (&info::LOCKS_WAITED_MS, &LOCKS_WAITED_MS),
    (&info::PRIZES_DRAWN, &PRIZES_DRAWN),
    (&info::SCRIPTS_REPLACED, &SCRIPTS_REPLACED),
];

/// Starts all counters from 0: a library may stay in memory across an unload.
pub(crate) fn reset() {
    FIELDS.iter().for_each(|(_, counter)| counter.reset());
}
