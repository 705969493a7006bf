//! The clients that wait for locks, and what is done for them.
//!
//! A lock that is released is handed to the first in line in the same step. Of everything else
//! that may free one (expiry, deletion, flushes) the line only takes note when it happens, and
//! looks at the end of that turn of the event loop, where a write comes behind what has happened.
//! Clients are answered there too. A timer of ours wakes the loop when a wait or a lease ends.

use super::acquisition::{By, Wanted, acquire, renew};
use crate::args::{KeyName, Token};
use crate::error::CommandError;
use crate::keyspace::lock::{self, Holder};
use crate::metrics;
use crate::reply::Reply;
use crate::server::{
    BlockedClient, Blocking, ClientId, Ctx, EventClass, KeyListener, MainThread, OwnedStr,
    ServerEvent, Str, Timer, block, is_turn_over, listen_to_keys, listen_to_server,
    listen_to_turns, turn_again,
};
use domain::waiters::{Place, Request, Wait, Waiters};
use std::ffi::CStr;

type Answer = Result<i64, CommandError>;
type Lines = Waiters<ClientId, BlockedClient, Answer>;

/// What who does not get the lock is told.
const NOT_ACQUIRED: Answer = Ok(0);

/// How many locks are looked at in one turn, so that other clients never wait long.
const LOOKS_A_TURN: usize = 500;

/// The longest that a server's event loop ever sleeps: it has work of its own, with `hz 1` too.
const SLEEP_MS_MAX: i64 = 1000;

/// None while nobody waits.
static LINES: MainThread<Option<Box<Lines>>> = MainThread::new(None);

static ANYBODY: MainThread<bool> = MainThread::new(false);
static IS_LISTENING: MainThread<bool> = MainThread::new(false);

/// Set while the line itself changes locks: of that it need not take note.
static IS_DEAF: MainThread<bool> = MainThread::new(false);

static TIMER: Timer = Timer::new(wake);
/// What the timer is armed for, if it is.
static ARMED_FOR_MS: MainThread<i64> = MainThread::new(i64::MAX);

/// Starts anew: the module is being loaded.
pub(crate) fn reset() {
    LINES.set(None);
    ANYBODY.set(false);
    IS_LISTENING.set(false);
    IS_DEAF.set(false);
}

/// Does `work` on the lines, if anybody waits. It must not call the server.
fn with<R>(work: impl FnOnce(&mut Lines) -> R) -> Option<R> {
    let mut lines = LINES.take()?;
    let result = work(&mut lines);
    put_back(lines);
    Some(result)
}

fn put_back(lines: Box<Lines>) {
    metrics::LOCKS_WAITING.set(lines.in_line() as u64);
    let is_idle = lines.is_idle();
    ANYBODY.set(!is_idle);
    if !is_idle {
        LINES.set(Some(lines));
    }
}

/// How many clients are in line for a lock.
pub(super) fn len(ctx: Ctx<'_>, key: KeyName<'_>) -> i64 {
    if !ANYBODY.get() {
        return 0;
    }
    let (db, key) = (ctx.selected_db(), key.0.bytes());
    let len = with(|lines| lines.len(db, key)).unwrap_or(0);
    i64::try_from(len).unwrap_or(i64::MAX)
}

pub(super) fn is_waited_for(ctx: Ctx<'_>, key: KeyName<'_>) -> bool {
    len(ctx, key) > 0
}

/// Sees to it that a lock is looked at when this turn is over.
pub(super) fn look_soon(ctx: Ctx<'_>, key: KeyName<'_>) {
    let (db, key) = (ctx.selected_db(), key.0.bytes());
    with(|lines| lines.mark(db, key));
    look_when_over();
}

/// Sees to it that what was noted after the end of a turn does not wait until something else makes
/// the loop turn. To be called only while a client is blocked.
fn look_when_over() {
    if is_turn_over() {
        turn_again();
    }
}

/// Puts the command's client in line behind `holder`, and blocks it. False where it can't wait.
pub(super) fn join(
    ctx: Ctx<'_>,
    wanted: &Wanted<'_>,
    wait_ms: i64,
    now_ms: i64,
    holder: Holder,
) -> bool {
    if !ctx.may_block() || ctx.is_replica() || !listen(ctx) {
        return false;
    }
    let place = Place { db: ctx.selected_db(), key: wanted.key.0.bytes().into() };
    let request = Request {
        token: wanted.token.0.bytes().into(),
        lease_ms: wanted.lease_ms,
        with_fence: wanted.with_fence,
    };
    let wait = Wait { since_ms: now_ms, until_ms: now_ms.saturating_add(wait_ms) };
    let Some((id, client)) = block::<Line>(ctx) else { return false };
    let mut lines = LINES.take().unwrap_or_default();
    lines.join(id, client, &place, request, wait);
    match holder {
        Holder::Another { ends_at_ms } => lines.look_at(&place, ends_at_ms.map(look_after)),
        Holder::Nobody | Holder::ThisToken => lines.mark(place.db, &place.key),
    }
    put_back(lines);
    look_when_over();
    true
}

/// A key's time to live is over when its end has passed.
fn look_after(ends_at_ms: i64) -> i64 {
    ends_at_ms.saturating_add(1)
}

/// Begins to listen, if that was not done: who never waits pays nothing for it.
fn listen(ctx: Ctx<'_>) -> bool {
    if IS_LISTENING.get() {
        return true;
    }
    let classes = [EventClass::Generic, EventClass::Expired, EventClass::Evicted];
    let is_listening = listen_to_server(ctx, on_server_event)
        && listen_to_turns(ctx, end_turn)
        && listen_to_keys::<Line>(ctx, &classes);
    IS_LISTENING.set(is_listening);
    is_listening
}

/// Somebody was told that they hold the lock with this token.
pub(super) fn confirm(ctx: Ctx<'_>, key: KeyName<'_>, token: Token<'_>) {
    if ANYBODY.get() {
        let (db, key, token) = (ctx.selected_db(), key.0.bytes(), token.0.bytes());
        with(|lines| lines.confirm(db, key, token));
    }
}

/// Deletes a lock, and hands it to the first in line in the same step, if there is one.
pub(super) fn release(ctx: Ctx<'_>, key: Str<'_>) {
    if !ANYBODY.get() {
        return lock::delete(ctx, key).publish(ctx);
    }
    IS_DEAF.set(true);
    lock::delete(ctx, key).publish(ctx);
    let place = Place { db: ctx.selected_db(), key: key.bytes().into() };
    serve(ctx, &place, key);
    IS_DEAF.set(false);
    look_when_over();
}

/// Looks at a lock and gives it to the first in line if it is free. The database is selected.
fn serve(ctx: Ctx<'_>, place: &Place, key: Str<'_>) {
    while let Some((client, request)) = with(|lines| lines.head(place)).flatten() {
        let token = OwnedStr::new(&request.token);
        let wanted = Wanted {
            key: KeyName(key),
            token: Token(token.as_str()),
            lease_ms: request.lease_ms,
            with_fence: request.with_fence,
        };
        let now_ms = ctx.now_ms();
        let answer = match lock::holder(ctx, key, wanted.token) {
            Ok(Holder::Another { ends_at_ms }) => {
                with(|lines| lines.look_at(place, ends_at_ms.map(look_after)));
                return;
            }
            Ok(Holder::Nobody) => acquire(ctx, By::Waiter, &wanted, now_ms),
            Ok(Holder::ThisToken) => renew(ctx, &wanted, now_ms),
            Err(error) => Err(error),
        };
        let waited_ms = with(|lines| match answer {
            Ok(_) => {
                let ends_at_ms = now_ms.saturating_add(request.lease_ms);
                let waited_ms = lines.grant(client, answer, now_ms);
                lines.look_at(place, Some(look_after(ends_at_ms)));
                waited_ms
            }
            Err(_) => lines.refuse(client, answer, now_ms),
        });
        metrics::LOCKS_WAITED_MS.add(waited_ms.unwrap_or(0));
        // The next may have the same token, and then holds the lock too.
        let is_over = answer.is_ok()
            && with(|lines| lines.is_head_another(place, &request.token)).unwrap_or(true);
        if is_over {
            return;
        }
    }
}

fn wake(_: Ctx<'_>) {
    // That there is a turn is all that is needed: its end looks what is due.
    ARMED_FOR_MS.set(i64::MAX);
}

/// Does what this turn of the event loop has made necessary.
fn end_turn(ctx: Ctx<'_>) {
    // Whatever went wrong before, the line listens again.
    IS_DEAF.set(false);
    if ANYBODY.get() {
        let now_ms = ctx.now_ms();
        end_waits(now_ms);
        take_back_grants(ctx);
        if with(|lines| lines.has_marked() || lines.has_lost()) == Some(true) {
            serve_marked(ctx);
        }
        while let Some(client) = with(Lines::next_unanswered).flatten() {
            client.unblock();
        }
        arm(ctx, now_ms);
    } else if TIMER.is_armed() {
        TIMER.stop(ctx);
    }
}

fn end_waits(now_ms: i64) {
    with(|lines| {
        while let Some(client) = lines.next_overdue(now_ms) {
            metrics::LOCKS_WAITED_MS.add(lines.refuse(client, NOT_ACQUIRED, now_ms));
            metrics::LOCKS_REFUSED.count();
        }
    });
}

/// Who was granted a lock in this turn and lost it again before being told goes back in line.
fn take_back_grants(ctx: Ctx<'_>) {
    for (client, place, token) in with(|lines| lines.granted()).unwrap_or_default() {
        let (key, token) = (OwnedStr::new(&place.key), OwnedStr::new(&token));
        let is_held = ctx.select_db(place.db)
            && lock::is_held_by(ctx, key.as_str(), Token(token.as_str())).unwrap_or(false);
        if !is_held {
            with(|lines| lines.return_to_line(client));
        }
    }
}

/// Undoes the grants that nobody will hear of, then looks at the locks to which something may have
/// happened.
fn serve_marked(ctx: Ctx<'_>) {
    if !ctx.may_write_in_background() {
        if ctx.is_replica() {
            // Whoever was granted a lock here holds it to the end of its lease.
            with(Lines::forget_lost);
        }
        return;
    }
    while let Some(lost) = with(Lines::next_lost).flatten() {
        let (key, token) = (OwnedStr::new(&lost.place.key), OwnedStr::new(&lost.token));
        let is_held = ctx.select_db(lost.place.db)
            && lock::is_held_by(ctx, key.as_str(), Token(token.as_str())).unwrap_or(false);
        if is_held {
            lock::delete(ctx, key.as_str()).publish(ctx);
        }
    }
    for _ in 0..LOOKS_A_TURN {
        let Some(place) = with(Lines::next_marked).flatten() else { return };
        let key = OwnedStr::new(&place.key);
        if ctx.select_db(place.db) {
            IS_DEAF.set(true);
            serve(ctx, &place, key.as_str());
            IS_DEAF.set(false);
        }
    }
}

/// Sees to it that the loop turns when something is due. A timer that is armed for too early a
/// moment is left alone: it costs one idle turn, to arm it anew costs more.
fn arm(ctx: Ctx<'_>, now_ms: i64) {
    // What is marked still was too much for one turn. Or writes are paused: then the next turn is
    // the server's own, of which there are ten a second.
    let is_paused = ctx.is_paused();
    let next = with(|lines| {
        let is_behind = lines.has_marked() && !is_paused;
        if is_behind { Some(now_ms) } else { lines.next_due_ms() }
    });
    let Some(due_ms) = next.flatten() else { return TIMER.stop(ctx) };
    if due_ms < ARMED_FOR_MS.get() || !TIMER.is_armed() {
        let after_ms = due_ms.saturating_sub(now_ms);
        TIMER.arm(ctx, u64::try_from(after_ms).unwrap_or(0));
        ARMED_FOR_MS.set(due_ms);
        if after_ms < SLEEP_MS_MAX {
            turn_again();
        }
    }
}

/// What the server tells us, for the lines.
struct Line;

impl KeyListener for Line {
    fn heard(ctx: Ctx<'_>, _event: &CStr, key: Str<'_>) {
        if ANYBODY.get() && !IS_DEAF.get() {
            let (db, key) = (ctx.selected_db(), key.bytes());
            with(|lines| lines.mark(db, key));
            look_when_over();
        }
    }
}

fn on_server_event(_: Ctx<'_>, event: ServerEvent) {
    with(|lines| match event {
        ServerEvent::Flushed { db } => lines.mark_all(db),
        ServerEvent::Swapped { first, second } => lines.swap(first, second),
        ServerEvent::LoadingEnded | ServerEvent::BecamePrimary => lines.mark_all(None),
        // The server itself ends the waits of a replica's clients.
        ServerEvent::LoadingStarted | ServerEvent::BecameReplica | ServerEvent::Configured => {}
    });
    if ANYBODY.get() {
        look_when_over();
    }
}

impl Blocking for Line {
    fn reply(ctx: Ctx<'_>, client: ClientId) {
        // The handle was used: that is why the server asks.
        let answer = with(|lines| lines.answer(client)).flatten().map(|(answer, _)| answer);
        send(ctx, answer.unwrap_or(NOT_ACQUIRED));
    }

    fn timed_out(ctx: Ctx<'_>, client: ClientId) {
        let now_ms = ctx.now_ms();
        let left = with(|lines| {
            let (before, waited_ms) = (lines.in_line(), lines.refuse(client, NOT_ACQUIRED, now_ms));
            (before != lines.in_line(), waited_ms, lines.answer(client))
        });
        let Some((was_in_line, waited_ms, answer)) = left else { return send(ctx, NOT_ACQUIRED) };
        if was_in_line {
            metrics::LOCKS_WAITED_MS.add(waited_ms);
            metrics::LOCKS_REFUSED.count();
        }
        let (answer, handle) = answer.unwrap_or((NOT_ACQUIRED, None));
        send(ctx, answer);
        if let Some(handle) = handle {
            handle.unblock();
        }
    }

    fn gone(ctx: Ctx<'_>, client: ClientId) {
        let now_ms = ctx.now_ms();
        let Some((handle, waited_ms)) = with(|lines| lines.gone(client, now_ms)).flatten() else {
            return;
        };
        metrics::LOCKS_WAITED_MS.add(waited_ms);
        // Also makes the loop turn, so that a grant is undone soon.
        if let Some(handle) = handle {
            handle.unblock();
        }
    }
}

fn send(ctx: Ctx<'_>, answer: Answer) {
    match answer {
        Ok(answer) => Reply::Integer(answer).send(ctx),
        Err(error) => error.send(ctx),
    }
}
