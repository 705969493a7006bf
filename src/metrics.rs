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

/// Each counter, under the name of its field, and all with their fields in the order shown.
macro_rules! counters {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        $($(#[$doc])* pub(crate) static $name: Counter = Counter::new();)*

        pub(crate) static FIELDS: &[(&Field, &Counter)] = &[$((&info::$name, &$name),)*];
    };
}

counters! {
    TRIES_ACCEPTED,
    TRIES_SOLD_OUT,
    TRIES_AT_LIMIT,
    TRIES_NOT_STARTED,
    TRIES_ENDED,
    TRIES_WAITING,
    TRIES_REPEATED,
    CARTS_ACCEPTED,
    CARTS_REFUSED,
    ORDERS_PROMOTED,
    ORDERS_CONFIRMED,
    ORDERS_CANCELLED,
    ORDERS_EXPIRED,
    ORDERS_REJECTED,
    /// Those that don't pay their order.
    PAYMENTS_TO_REFUND,
    LOCKS_ACQUIRED,
    LOCKS_REFUSED,
    LOCKS_RELEASED,
    /// How many clients are in the queue now.
    LOCKS_WAITING,
    /// The time that clients were in the queue, counted when they leave it.
    LOCKS_WAITED_MS,
    PRIZES_DRAWN,
    /// Calls of scripts that became commands.
    SCRIPTS_REPLACED,
}

/// Starts all counters from 0: a library may stay in memory across an unload.
pub(crate) fn reset() {
    FIELDS.iter().for_each(|(_, counter)| counter.reset());
}
