//! One waiting client, and its stage.

use super::{DbKey, Request, Wait};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage<A> {
    InLine,
    /// Holds the lock, and is not answered yet.
    Granted(A),
    /// Leaves without the lock, and is not answered yet.
    Refused(A),
}

pub(super) struct Waiter<H, A> {
    /// The handle that answers the client; none once used.
    pub(super) handle: Option<H>,
    /// The database that the client selected.
    pub(super) home_db: i32,
    /// The lock; a granted lock moves with its database.
    pub(super) lock: DbKey,
    pub(super) request: Request,
    /// Its number in the order of arrival, kept when it returns to the line.
    pub(super) ticket: u64,
    pub(super) wait: Wait,
    pub(super) stage: Stage<A>,
    /// The number of its answer; none while in line.
    pub(super) answer_number: Option<u64>,
    /// Another client was answered that it holds the lock with the same token.
    pub(super) is_shared: bool,
}
