//! Grants locks to the clients in the queue, at the end of the turn in which the locks became free.
//!
//! LOCK.RELEASE hands a lock on in its own step. Anything else that may free a lock (expiry,
//! deletion, flushes) only marks it when it happens; the end of that turn of the event loop looks
//! at the marked locks, where a write comes after the change in the replication stream. Clients are
//! answered there too.

use super::Budget;
use crate::commands::locks::{Lock, look_when_over, release_next_closed};
use crate::memory::Memory;
use crate::memory::queues::Waiters;
use crate::server::{Ctx, Timer, turn_again};
use domain::db_key::DbKey;

/// The longest time that a server's event loop sleeps: even with `hz 1` it has work of its own.
const SLEEP_MS_MAX: u64 = 1000;

/// Wakes the loop when a wait or a lease ends.
static TIMER: Timer = Timer::new(on_time);

/// Any turn will do: its end looks at what is due.
fn on_time(_: Ctx<'_>) {}

/// Makes the loop turn soon, so that it handles what queues and sessions have noted.
pub(super) fn wake(ctx: Ctx<'_>, memory: &Memory) {
    if memory.sessions.has_closed() {
        // Wakes the loop.
        let soon_ms = ctx.now_ms().saturating_add(1);
        if TIMER.armed_for_ms().is_none_or(|armed_for_ms| soon_ms < armed_for_ms) {
            TIMER.arm(ctx, 0);
        }
        look_when_over();
    } else if memory.queues.is_used() {
        look_when_over();
    }
}

/// Does the work that this turn of the event loop has made necessary. The rest is done in the next
/// turn, which follows at once.
pub(super) fn end_turn(ctx: Ctx<'_>, memory: &Memory) {
    let queues = &memory.queues;
    queues.hear_again();
    if !queues.is_used() && !memory.sessions.has_closed() {
        return if TIMER.is_armed() {
            TIMER.stop(ctx)
        };
    }
    let budget = Budget::begin();
    let (now_ms, steady_ms) = (ctx.now_ms(), ctx.steady_ms());
    queues.with(|queues| {
        queues.mark_ended(now_ms);
        while budget.is_left()
            && let Some(client) = queues.overdue(steady_ms)
        {
            queues.refuse(client, None);
        }
    });
    // A client that was granted a lock in this turn, and lost it again before it was answered,
    // returns to its place in the queue; a grant whose client can't be answered is undone.
    let may_write = ctx.may_write_in_background();
    for lock in queues.with(|queues| queues.granted()) {
        serve(ctx, memory, &lock, may_write);
    }
    if may_write {
        while budget.is_left() && release_next_closed(ctx, memory) {}
        while budget.is_left()
            && let Some(lock) = queues.with(Waiters::next_marked)
        {
            serve(ctx, memory, &lock, true);
        }
    } else if ctx.is_replica() {
        // A lock that was granted here is held to the end of its lease.
        queues.with(|queues| queues.forget_lost(|_| true));
        memory.sessions.forget();
    }
    // A client that was granted a lock is answered in this turn, so that no grant has to be undone.
    while let Some(client) = queues.with(Waiters::next_unanswered) {
        client.unblock();
    }
    arm(ctx, memory, now_ms, steady_ms);
}

fn serve(ctx: Ctx<'_>, memory: &Memory, lock: &DbKey, may_write: bool) {
    if ctx.select_db(lock.db) {
        Lock::serve(ctx, memory, lock, may_write);
    }
}

/// Makes the loop turn when something is due. A timer that is armed for an earlier moment is left
/// alone: that costs one idle turn, and arming it again costs more.
fn arm(ctx: Ctx<'_>, memory: &Memory, now_ms: i64, steady_ms: u64) {
    // More work was left than fits one turn. Or nothing may be written: then the next turn is the
    // server's own, of which there are ten per second.
    let may_write = ctx.may_write_in_background();
    let has_closed = memory.sessions.has_closed();
    let next = memory.queues.with(|queues| {
        let is_behind = (queues.has_marked() || has_closed) && may_write;
        if is_behind { Some(0) } else { queues.next_due_in(steady_ms, now_ms) }
    });
    let Some(after_ms) = next else { return TIMER.stop(ctx) };
    let due_ms = now_ms.saturating_add_unsigned(after_ms);
    if TIMER.armed_for_ms().is_none_or(|armed_for_ms| due_ms < armed_for_ms) {
        TIMER.arm(ctx, after_ms);
        if after_ms < SLEEP_MS_MAX {
            turn_again();
        }
    }
}
