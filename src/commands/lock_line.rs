//! Waiting in line for a lock: joining the line, receiving a released lock, being answered.
//!
//! `background/grants.rs` handles locks that become free in other ways.

use super::acquisition::{Acquirer, Wanted, acquire, renew};
use crate::config;
use crate::error::CommandError;
use crate::keyspace::lock::{self, Holder};
use crate::memory::Memory;
use crate::memory::lines::{Answer, Lines};
use crate::metrics;
use crate::reply::Reply;
use crate::server::{
    self, BlockedClient, Blocking, ClientId, Ctx, OwnedStr, Str, block, is_turn_over, turn_again,
};
use crate::typed::{KeyName, Token};
use domain::db_key::DbKey;
use domain::waiters::{Request, Wait};

/// The answer to a client that does not get the lock.
pub(crate) const NOT_ACQUIRED: Answer = Ok(0);

/// How many clients are in line for a lock.
pub(super) fn len(ctx: Ctx<'_>, lines: &Lines, key: KeyName<'_>) -> i64 {
    if !lines.is_used() {
        return 0;
    }
    let (db, key) = (ctx.selected_db(), key.0.bytes());
    i64::try_from(lines.with(|lines| lines.len(db, key))).unwrap_or(i64::MAX)
}

pub(super) fn is_waited_for(ctx: Ctx<'_>, lines: &Lines, key: KeyName<'_>) -> bool {
    len(ctx, lines, key) > 0
}

/// Marks a lock, to be looked at when this turn is over.
pub(super) fn look_soon(ctx: Ctx<'_>, lines: &Lines, key: KeyName<'_>) {
    let (db, key) = (ctx.selected_db(), key.0.bytes());
    lines.with(|lines| lines.mark(db, key));
    look_when_over();
}

/// Makes the loop turn, so that marks set after the end of a turn don't wait for other work. To be
/// called only while a client is blocked.
pub(crate) fn look_when_over() {
    if is_turn_over() {
        turn_again();
    }
}

/// Puts the command's client in line behind `holder`, and blocks it. False if it can't wait; an
/// error if too many clients wait.
pub(super) fn join(
    ctx: Ctx<'_>,
    lines: &Lines,
    wanted: &Wanted<'_>,
    wait: Wait,
    holder: Holder,
) -> Result<bool, CommandError> {
    if !ctx.may_block() || ctx.is_replica() {
        return Ok(false);
    }
    check_room(ctx, lines, wanted.key)?;
    lines.hear_turns(ctx);
    let lock = DbKey::new(ctx.selected_db(), wanted.key.0.bytes());
    let request = Request {
        token: wanted.token.0.bytes().into(),
        lease_ms: wanted.lease_ms,
        with_fence: wanted.with_fence,
        connection: wanted.connection,
    };
    let Some((id, client)) = block::<LockWaiter>(ctx) else { return Ok(false) };
    lines.with(|lines| {
        lines.join(id, client, &lock, request, wait);
        match holder {
            Holder::Another { ends_at_ms } => lines.look_at(&lock, ends_at_ms.map(look_after)),
            Holder::Nobody | Holder::ThisToken => lines.mark(lock.db, &lock.key),
        }
    });
    look_when_over();
    Ok(true)
}

/// Refuses a client when this line, or all lines together, are full.
fn check_room(ctx: Ctx<'_>, lines: &Lines, key: KeyName<'_>) -> Result<(), CommandError> {
    let Some(bounds) = config::lock_waiters_max() else { return Ok(()) };
    let (db, key) = (ctx.selected_db(), key.0.bytes());
    let (for_this_lock, for_all) = lines.with(|lines| (lines.len(db, key), lines.in_line()));
    bounds.check(for_this_lock, for_all).map_err(CommandError::Waiters)
}

/// A key expires only when its end has passed, not at it.
fn look_after(ends_at_ms: i64) -> i64 {
    ends_at_ms.saturating_add(1)
}

/// A client was answered that it holds the lock with this token.
pub(super) fn confirm(ctx: Ctx<'_>, lines: &Lines, key: KeyName<'_>, token: Token<'_>) {
    if lines.is_used() {
        let (db, key, token) = (ctx.selected_db(), key.0.bytes(), token.0.bytes());
        lines.with(|lines| lines.confirm(db, key, token));
    }
}

/// Deletes a lock, and hands it to the first in line in the same step, if there is one.
pub(super) fn release(ctx: Ctx<'_>, memory: &Memory, key: Str<'_>) {
    if !memory.lines.is_used() {
        return lock::delete(ctx, key).publish(ctx);
    }
    memory.lines.unheard(|| {
        lock::delete(ctx, key).publish(ctx);
        serve(ctx, memory, &DbKey::new(ctx.selected_db(), key.bytes()), key);
    });
    look_when_over();
}

/// Looks at a lock and gives it to the first in line if it is free. Its database is selected.
pub(crate) fn serve(ctx: Ctx<'_>, memory: &Memory, lock: &DbKey, key: Str<'_>) {
    let lines = &memory.lines;
    while let Some((client, request)) = lines.with(|lines| lines.head(lock)) {
        let token = OwnedStr::new(&request.token);
        let wanted = Wanted {
            key: KeyName(key),
            token: Token(token.as_str()),
            lease_ms: request.lease_ms,
            with_fence: request.with_fence,
            connection: request.connection,
        };
        let now_ms = ctx.now_ms();
        let answer = match lock::holder(ctx, key, wanted.token) {
            Ok(Holder::Another { ends_at_ms }) => {
                lines.with(|lines| lines.look_at(lock, ends_at_ms.map(look_after)));
                return;
            }
            Ok(Holder::Nobody) => acquire(ctx, Acquirer::Waiter, &wanted, now_ms),
            Ok(Holder::ThisToken) => renew(ctx, &wanted, now_ms),
            Err(error) => Err(error),
        };
        if answer.is_ok() {
            // A session that had this lock leaves it to the waiter, who is answered soon.
            memory.sessions.end(lock.db, &lock.key);
        }
        let waited_ms = lines.with(|lines| match answer {
            Ok(_) => {
                let ends_at_ms = now_ms.saturating_add(request.lease_ms);
                let waited_ms = lines.grant(client, answer, now_ms);
                lines.look_at(lock, Some(look_after(ends_at_ms)));
                waited_ms
            }
            Err(_) => lines.refuse(client, answer, now_ms),
        });
        metrics::LOCKS_WAITED_MS.add(waited_ms);
        // The next may have the same token, and then holds the lock too.
        let is_over =
            answer.is_ok() && lines.with(|lines| lines.is_head_another(lock, &request.token));
        if is_over {
            return;
        }
    }
}

/// A blocked client, as a handle of the server.
struct LockWaiter;

impl Blocking for LockWaiter {
    fn reply(_: Ctx<'_>, client: ClientId) -> server::Answer {
        // The handle was used: that is why the server asks.
        let memory = Memory::current();
        let answer = memory.and_then(|memory| answer(&memory, client)).map(|(answer, _)| answer);
        sent(answer.unwrap_or(NOT_ACQUIRED))
    }

    fn timed_out(ctx: Ctx<'_>, client: ClientId) -> server::Answer {
        let Some(memory) = Memory::current() else { return sent(NOT_ACQUIRED) };
        let now_ms = ctx.now_ms();
        let (was_in_line, waited_ms) = memory.lines.with(|lines| {
            let (before, waited_ms) = (lines.in_line(), lines.refuse(client, NOT_ACQUIRED, now_ms));
            (before != lines.in_line(), waited_ms)
        });
        let answer = answer(&memory, client);
        if was_in_line {
            metrics::LOCKS_WAITED_MS.add(waited_ms);
            metrics::LOCKS_REFUSED.count();
        }
        let (answer, handle) = answer.unwrap_or((NOT_ACQUIRED, None));
        if let Some(handle) = handle {
            handle.unblock();
        }
        sent(answer)
    }

    fn gone(ctx: Ctx<'_>, client: ClientId) {
        let Some(memory) = Memory::current() else { return };
        let now_ms = ctx.now_ms();
        let Some((handle, waited_ms)) = memory.lines.with(|lines| lines.gone(client, now_ms))
        else {
            return;
        };
        metrics::LOCKS_WAITED_MS.add(waited_ms);
        // Also makes the loop turn, so that a grant is undone soon.
        if let Some(handle) = handle {
            handle.unblock();
        }
    }
}

/// What to answer the client, which then no longer waits. A lock that it holds from now on is tied
/// to its connection, if it asked for that.
fn answer(memory: &Memory, client: ClientId) -> Option<(Answer, Option<BlockedClient>)> {
    let (grant, answer) = memory.lines.with(|lines| (lines.grant_of(client), lines.answer(client)));
    if let Some((lock, Request { token, connection: Some(connection), .. })) = grant {
        memory.sessions.tie(&lock, token, connection);
    }
    answer
}

fn sent(answer: Answer) -> server::Answer {
    answer.map_or_else(Reply::Error, Reply::Integer).answer()
}
