//! Acquires free locks and renews held ones, for commands and for clients in line.

use crate::config;
use crate::error::CommandError;
use crate::keyspace::fence::{self, Fence};
use crate::keyspace::lock;
use crate::metrics;
use crate::server::{Ctx, Str};
use crate::typed::{KeyName, Token};
use domain::sessions::ConnectionId;

/// What an acquirer wants.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) key: KeyName<'a>,
    pub(super) token: Token<'a>,
    pub(super) lease_ms: i64,
    pub(super) with_fence: bool,
    /// The connection that the lock is to be tied to.
    pub(super) connection: Option<ConnectionId>,
}

/// On whose behalf a lock is acquired.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Acquirer {
    /// The client has just sent its command here: the server has checked the slot.
    Command,
    /// The client sent its command some time ago: the slot may have moved since.
    Waiter,
}

/// The answer to a successful acquirer that did not ask for a fencing token.
const ACQUIRED: i64 = 1;

/// Acquires a lock that nobody holds: the answer. On an error nothing was changed.
pub(super) fn acquire(
    ctx: Ctx<'_>,
    acquirer: Acquirer,
    wanted: &Wanted<'_>,
    now_ms: i64,
) -> Result<i64, CommandError> {
    let Wanted { key: KeyName(key), token, lease_ms, with_fence, .. } = *wanted;
    let fence = with_fence.then(|| Fence::read(ctx, key)).transpose()?;
    let number = fence.as_ref().map(|fence| fence.next(now_ms)).transpose()?;
    let ends_at_ms = now_ms.saturating_add(lease_ms);
    if acquirer == Acquirer::Waiter && config::is_cluster() {
        lock::take_by_call(ctx, key, token, lease_ms)?;
    } else {
        lock::take(ctx, key, token, ends_at_ms).publish(ctx);
    }
    metrics::LOCKS_ACQUIRED.count();
    let (Some(fence), Some(number)) = (fence, number) else { return Ok(ACQUIRED) };
    fence.remember(ctx, number, ends_at_ms);
    Ok(number)
}

/// Renews a lock that is held with this token, and answers as its acquisition was answered, so that
/// a client may repeat a request whose answer it lost. On an error nothing was changed.
pub(super) fn renew(ctx: Ctx<'_>, wanted: &Wanted<'_>, now_ms: i64) -> Result<i64, CommandError> {
    let Wanted { key: KeyName(key), lease_ms, with_fence, .. } = *wanted;
    let ends_at_ms = now_ms.saturating_add(lease_ms);
    if !with_fence {
        extend(ctx, key, ends_at_ms);
        return Ok(ACQUIRED);
    }
    let fence = Fence::read(ctx, key)?;
    // None: the lock was acquired without a fencing token, or the key was deleted. The next token
    // is greater anyway.
    let number = fence.last().map_or_else(|| fence.next(now_ms), Ok)?;
    lock::extend(ctx, key, ends_at_ms).publish(ctx);
    fence.remember(ctx, number, ends_at_ms);
    Ok(number)
}

/// Sets the end of the lease of a held lock, and the expiry of its fence key if it has one.
pub(super) fn extend(ctx: Ctx<'_>, key: Str<'_>, ends_at_ms: i64) {
    lock::extend(ctx, key, ends_at_ms).publish(ctx);
    fence::extend(ctx, key, ends_at_ms);
}
