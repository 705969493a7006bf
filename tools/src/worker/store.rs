//! The database: where it is and how to open it, three dialects, the rows, and the transaction that
//! writes a batch.

mod apply;
mod columns;
mod database;
mod engine;
mod fault;
mod groups;
mod lines;
mod lock;
mod migrate;
mod open;
mod orders;
mod prepared;
mod rule;
mod shop;
mod transaction;

use std::time::{SystemTime, UNIX_EPOCH};

pub use apply::Applied;
pub use database::Store;
pub use fault::Fault;
pub use groups::{Group, lacking};
pub use rule::Ledger;

/// Unix milliseconds.
pub fn now_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
