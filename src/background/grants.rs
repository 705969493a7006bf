//! Grants locks to the clients in line, at the end of the turn in which the locks became free.
//!
//! LOCK.RELEASE hands a lock on in its own step. Anything else that may free a lock (expiry,
//! deletion, flushes) only marks it when it happens; the end of that turn of the event loop looks
//! at the marked locks, where a write comes after the change in the replication stream. Clients are
//! answered there too.

use super::Budget;
use crate::commands::lock_line::{NOT_ACQUIRED, look_when_over, serve};
use crate::commands::lock_session::release_next;
use crate::keyspace::lock;
use crate::memory::Memory;
use crate::memory::lines::{Lines, LockWaiters};
use crate::metrics;
use crate::server::{Ctx, OwnedStr, Timer, turn_again};
use crate::typed::Token;

/// The longest time that a server's event loop sleeps: even with `hz 1` it has work of its own.
const SLEEP_MS_MAX: i64 = 1000;

/// Wakes the loop when a wait or a lease ends.
static TIMER: Timer = Timer::new(on_time);

/// Any turn will do: its end looks at what is due.
fn on_time(_: Ctx<'_>) {}

/// Stops the timer.
pub(super) fn end(ctx: Ctx<'_>) {
    TIMER.stop(ctx);
}

/// Makes the loop turn soon, so that it handles what lines and sessions have noted.
pub(super) fn wake(ctx: Ctx<'_>, memory: &Memory) {
    if memory.sessions.has_closed() {
        // Wakes the loop, and prevents an unload until then.
        let soon_ms = ctx.now_ms().saturating_add(1);
        if TIMER.armed_for_ms().is_none_or(|armed_for_ms| soon_ms < armed_for_ms) {
            TIMER.arm(ctx, 0);
        }
        look_when_over();
    } else if memory.lines.is_used() {
        look_when_over();
    }
}

/// Does the work that this turn of the event loop has made necessary. The rest is done in the next
/// turn, which follows at once.
pub(super) fn end_turn(ctx: Ctx<'_>, memory: &Memory) {
    let lines = &memory.lines;
    lines.hear_again();
    if !lines.is_used() && !memory.sessions.has_closed() {
        return if TIMER.is_armed() {
            TIMER.stop(ctx)
        };
    }
    let budget = Budget::begin();
    let now_ms = ctx.now_ms();
    end_waits(lines, now_ms, &budget);
    take_back_grants(ctx, lines);
    if memory.sessions.has_closed() || lines.with(|lines| lines.has_marked() || lines.has_lost()) {
        serve_marked(ctx, memory, &budget);
    }
    // A client that was granted a lock is answered in this turn, so that no grant has to be undone.
    while let Some(client) = lines.with(LockWaiters::next_unanswered) {
        client.unblock();
    }
    arm(ctx, memory, now_ms);
}

fn end_waits(lines: &Lines, now_ms: i64, budget: &Budget) {
    lines.with(|lines| {
        while budget.is_left()
            && let Some(client) = lines.next_overdue(now_ms)
        {
            metrics::LOCKS_WAITED_MS.add(lines.refuse(client, NOT_ACQUIRED, now_ms));
            metrics::LOCKS_REFUSED.count();
        }
    });
}

/// A client that was granted a lock in this turn, and lost it again before it was answered, returns
/// to its place in line.
fn take_back_grants(ctx: Ctx<'_>, lines: &Lines) {
    for (client, lock, token) in lines.with(|lines| lines.granted()) {
        let (key, token) = (OwnedStr::new(&lock.key), OwnedStr::new(&token));
        let is_held = ctx.select_db(lock.db)
            && lock::is_held_by(ctx, key.as_str(), Token(token.as_str())).unwrap_or(false);
        if !is_held {
            lines.with(|lines| lines.return_to_line(client));
        }
    }
}

/// Undoes grants whose clients can't be answered, releases the locks of connections that have
/// closed, then looks at the marked locks.
fn serve_marked(ctx: Ctx<'_>, memory: &Memory, budget: &Budget) {
    let lines = &memory.lines;
    if !ctx.may_write_in_background() {
        if ctx.is_replica() {
            // A lock that was granted here is held to the end of its lease.
            lines.with(LockWaiters::forget_lost);
            memory.sessions.forget();
        }
        return;
    }
    while let Some(lost) = lines.with(LockWaiters::next_lost) {
        let (key, token) = (OwnedStr::new(&lost.lock.key), OwnedStr::new(&lost.token));
        let is_held = ctx.select_db(lost.lock.db)
            && lock::is_held_by(ctx, key.as_str(), Token(token.as_str())).unwrap_or(false);
        if is_held {
            lock::delete(ctx, key.as_str()).publish(ctx);
        }
    }
    while budget.is_left() && release_next(ctx, memory) {}
    while budget.is_left()
        && let Some(lock) = lines.with(LockWaiters::next_marked)
    {
        let key = OwnedStr::new(&lock.key);
        if ctx.select_db(lock.db) {
            lines.unheard(|| serve(ctx, memory, &lock, key.as_str()));
        }
    }
}

/// Makes the loop turn when something is due. A timer that is armed for an earlier moment is left
/// alone: that costs one idle turn, and arming it again costs more.
fn arm(ctx: Ctx<'_>, memory: &Memory, now_ms: i64) {
    // More work was left than fits one turn. Or writes are paused: then the next turn is the
    // server's own, of which there are ten per second.
    let is_paused = ctx.is_paused();
    let has_closed = memory.sessions.has_closed();
    let next = memory.lines.with(|lines| {
        let is_behind = (lines.has_marked() || has_closed) && !is_paused;
        if is_behind { Some(now_ms) } else { lines.next_due_ms() }
    });
    let Some(due_ms) = next else { return TIMER.stop(ctx) };
    if TIMER.armed_for_ms().is_none_or(|armed_for_ms| due_ms < armed_for_ms) {
        let after_ms = due_ms.saturating_sub(now_ms).max(0);
        TIMER.arm(ctx, u64::try_from(after_ms).unwrap_or(0));
        if after_ms < SLEEP_MS_MAX {
            turn_again();
        }
    }
}
