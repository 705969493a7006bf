//! The ties of locks to the connections of their holders.

use crate::config;
use crate::error::CommandError;
use crate::server::{Ctx, MainThread, SlotRanges};
use domain::db_key::DbKey;
use domain::lock::LockRequest;
use domain::sessions::{ConnectionId, Sessions as Ties, Tied};
use std::ffi::CStr;

/// All ties. Costs nothing while no lock is tied.
pub(crate) struct Sessions {
    hear_connections: fn(Ctx<'_>),
    ties: MainThread<Ties>,
    is_used: MainThread<bool>,
}

impl Sessions {
    pub(super) fn new(hear_connections: fn(Ctx<'_>)) -> Self {
        Self {
            hear_connections,
            ties: MainThread::new(Ties::default()),
            is_used: MainThread::new(false),
        }
    }

    /// A lock is going to be tied: subscribes to connections that close, which cost nothing before.
    pub(crate) fn hear_connections(&self, ctx: Ctx<'_>) {
        (self.hear_connections)(ctx);
    }

    fn with<R>(&self, work: impl FnOnce(&mut Ties) -> R) -> R {
        self.ties.with(|ties| {
            let result = work(ties);
            self.is_used.set(!ties.is_empty());
            if ties.is_empty() {
                // Returns the memory of many ties.
                *ties = Ties::default();
            }
            result
        })
    }

    #[inline]
    fn with_if_used(&self, work: impl FnOnce(&mut Ties)) {
        if self.is_used.get() {
            self.with(work);
        }
    }

    /// The lock is held with the request's token until its connection closes, if it asks for that.
    /// Ends an earlier tie.
    pub(crate) fn acquired(&self, lock: &DbKey, request: &LockRequest<impl AsRef<[u8]>>) {
        match request.session {
            Some(connection) => {
                let [token, user] =
                    [&request.token, &request.user].map(|name| name.as_ref().into());
                self.with(|ties| ties.tie(lock, token, connection, user));
            }
            None => self.end(lock.db, &lock.key),
        }
    }

    /// Whether one more lock of this user may be tied, or the lock is tied already.
    pub(crate) fn check_room(&self, lock: &DbKey, user: &[u8]) -> Result<(), CommandError> {
        let Some(bounds) = config::lock_waiters_max() else { return Ok(()) };
        self.ties.with(|ties| match ties.connection(lock.db, &lock.key) {
            Some(_) => Ok(()),
            None => {
                bounds.check_tie(user, ties.count()).map_err(|full| CommandError::Waiters { full })
            }
        })
    }

    /// Is some lock tied, or left to be released?
    #[inline]
    pub(crate) fn is_used(&self) -> bool {
        self.is_used.get()
    }

    /// The lock is no longer tied to a connection.
    #[inline]
    pub(crate) fn end(&self, db: i32, key: &[u8]) {
        self.with_if_used(|ties| ties.end(db, key));
    }

    /// Another client was answered that the lock is theirs: a connection that closed earlier no
    /// longer releases it.
    #[inline]
    pub(crate) fn keep(&self, db: i32, key: &[u8]) {
        self.with_if_used(|ties| ties.keep(db, key));
    }

    /// May there be a lock to be released for a connection that has closed?
    #[inline]
    pub(crate) fn has_closed(&self) -> bool {
        self.is_used.get() && self.ties.with(|ties| ties.has_closed())
    }

    /// The next lock to be released for a connection that has closed. Its tie is over.
    pub(crate) fn next_closed(&self) -> Option<Tied> {
        self.with(Ties::next_closed)
    }

    /// Handles an event of a key. Unless only its time to live has changed, it is no longer the
    /// lock that was tied.
    #[inline]
    pub(super) fn on_key(&self, event: &CStr, db: i32, key: &[u8]) {
        if self.is_used.get() && event != c"expire" && event != c"persist" {
            self.with(|ties| ties.end(db, key));
        }
    }

    pub(super) fn closed(&self, connection: u64) {
        self.with_if_used(|ties| _ = ties.close(ConnectionId(connection)));
    }

    pub(super) fn flushed(&self, db: Option<i32>) {
        match db {
            Some(db) => self.with_if_used(|ties| ties.flushed(db)),
            None => self.forget(),
        }
    }

    /// From now on the leases alone decide.
    pub(crate) fn forget(&self) {
        self.with_if_used(|ties| *ties = Ties::default());
    }

    pub(super) fn swapped(&self, first: i32, second: i32) {
        self.with_if_used(|ties| ties.swap(first, second));
    }

    /// The locks of these slots are on another node.
    pub(super) fn leave(&self, slots: &SlotRanges) {
        self.with_if_used(|ties| slots.iter().for_each(|range| ties.leave(range)));
    }
}
