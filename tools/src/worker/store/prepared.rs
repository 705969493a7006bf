//! What is known of the prepared statements of connections: whether they may be kept, and whether
//! some are of no use any more.

use std::sync::atomic::{AtomicBool, Ordering};

use tracing::info;

/// Whether a pooler lends connections for one transaction, to whoever is next: a prepared statement
/// of a session would be missing, or another client's of the same name, which may change anything.
static LENDS_CONNECTIONS: AtomicBool = AtomicBool::new(false);

/// Whether PostgreSQL refuses a prepared statement as long as its connection lives: a table was
/// changed, and the statement would return other columns than when it was prepared.
static ARE_STALE: AtomicBool = AtomicBool::new(false);

/// Was a pooler seen? Connections that are older than the answer may have prepared statements.
pub fn are_lent() -> bool {
    LENDS_CONNECTIONS.load(Ordering::Relaxed)
}

/// A pooler was seen: from now on no prepared statement outlives its transaction.
pub fn lends_connections() {
    if !LENDS_CONNECTIONS.swap(true, Ordering::Relaxed) {
        info!("a pooler lends the database's connections, so no statement stays prepared");
    }
}

#[cfg(feature = "databases")]
pub fn are_stale() {
    ARE_STALE.store(true, Ordering::Relaxed);
}

/// Were there such statements, since this was last asked? New connections will do.
pub fn take_stale() -> bool {
    ARE_STALE.swap(false, Ordering::Relaxed)
}
