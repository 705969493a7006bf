//! Locks with SESSION: tied to the connection of their holder, and released when it closes.
//!
//! The close of a connection is only noted when it happens. The end of that turn of the event loop
//! releases its locks (`background/grants.rs`), so that the write comes after it in the replication
//! stream.

use super::acquisition::Wanted;
use super::lock_line;
use crate::error::CommandError;
use crate::keyspace::lock;
use crate::memory::Memory;
use crate::metrics;
use crate::server::{Ctx, OwnedStr};
use crate::typed::Token;
use domain::db_key::DbKey;
use domain::sessions::{ConnectionId, Tied};

/// The connection of the command, to tie a lock to. From now on the module is notified when it
/// closes.
pub(super) fn connection(ctx: Ctx<'_>, memory: &Memory) -> Result<ConnectionId, CommandError> {
    let connection = ctx.connection().ok_or(CommandError::NoConnection)?;
    memory.lines.hear_turns(ctx);
    memory.sessions.hear_connections(ctx);
    Ok(ConnectionId(connection))
}

/// A command has acquired or renewed a lock: the latest acquisition says whether it is tied, and to
/// which connection.
#[inline]
pub(super) fn acquired(ctx: Ctx<'_>, memory: &Memory, wanted: &Wanted<'_>) {
    let (db, key) = (ctx.selected_db(), wanted.key.0.bytes());
    match wanted.connection {
        Some(connection) => {
            let token = wanted.token.0.bytes().into();
            memory.sessions.tie(&DbKey::new(db, key), token, connection);
        }
        None => memory.sessions.end(db, key),
    }
}

/// Releases the next lock of a connection that has closed, and hands it on, if the lock is still
/// held with the token that it was tied with. False when there is none left.
///
/// Only where a write in the background is safe.
pub(crate) fn release_next(ctx: Ctx<'_>, memory: &Memory) -> bool {
    let Some(Tied { lock, token }) = memory.sessions.next_closed() else { return false };
    let (key, token) = (OwnedStr::new(&lock.key), OwnedStr::new(&token));
    let is_held = ctx.select_db(lock.db)
        && lock::is_held_by(ctx, key.as_str(), Token(token.as_str())).unwrap_or(false);
    if is_held {
        lock_line::release(ctx, memory, key.as_str());
        metrics::LOCKS_RELEASED.count();
    }
    true
}
