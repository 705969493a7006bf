//! Releases holds whose deadline has passed, and promotes orders that wait: by a timer of the
//! primary, in bounded steps.
//!
//! The holds keys are the truth. The index of [`crate::memory::holds`] knows when to look at which
//! key; key events mark what changed, and only the timer looks and writes. A replica looks too, so
//! that its index is up to date when it is promoted, but never writes.

use super::Budget;
use crate::commands::decided::end_hold;
use crate::commands::queue;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::book;
use crate::keyspace::names::Name;
use crate::keyspace::opening::Opening;
use crate::keyspace::sale::Sale;
use crate::keyspace::sale_keys::ManagedKeys;
use crate::keyspace::voucher_keys::VoucherKeys;
use crate::memory::Memory;
use crate::server::{Call, Ctx, Kind, OwnedStr, ReadKey, Str, Timer};
use crate::typed::Voucher;
use domain::book::Reason;
use domain::db_key::DbKey;
use domain::due::{HoldPosition, Skipped};
use domain::key_names::{TIMED_PATTERN, is_timed_name, is_wait_name, voucher_of_timed};
use domain::rules::Millis;
use domain::waitlist::{self, Next};
use std::rc::Rc;

/// The pause between two ticks, for the server's clients, when more holds are due.
const REST_MS: u64 = 1;

/// How many holds are handled before the clock is read again.
const BATCH_LEN: usize = 25;

/// How long after a failure to retry holds that could not be released, for example because of a
/// stream of the wrong type.
const RETRY_MS: Millis = 1000;

/// How long a queue is remembered without a look at it. A slot can be lost without an event for its
/// keys, and the queue of a sale without an end would be remembered for ever.
const QUEUE_LOOK_MS: Millis = 10_000;

/// How many keys a step of the scan asks for.
const SCAN_COUNT: &[u8] = b"100";

static TIMER: Timer = Timer::new(on_tick);

/// Stops the timer.
pub(super) fn stop(ctx: Ctx<'_>) {
    TIMER.stop(ctx);
}

/// Schedules a tick soon.
pub(super) fn wake(ctx: Ctx<'_>) {
    if !TIMER.is_armed() {
        TIMER.arm(ctx, REST_MS);
    }
}

/// As [`wake`], if a tick could do anything, now or later.
pub(super) fn wake_if_needed(ctx: Ctx<'_>, memory: &Memory) {
    if memory.holds.has_work() || memory.holds.first_due().is_some() && !ctx.is_replica() {
        wake(ctx);
    }
}

fn on_tick(ctx: Ctx<'_>) {
    let Some(memory) = Memory::current() else { return };
    let budget = Budget::begin();
    // One step of the scan in every tick, so that nothing keeps it from finishing.
    scan(ctx, &memory);
    let mut now = ctx.now_ms();
    while budget.is_left() && work(ctx, &memory, now, &budget) {
        now = ctx.now_ms();
    }
    if let Some(wait_ms) = wait_ms(ctx, &memory, now) {
        TIMER.arm(ctx, wait_ms);
    }
}

/// When to tick again; None when there is nothing to wait for.
fn wait_ms(ctx: Ctx<'_>, memory: &Memory, now: Millis) -> Option<u64> {
    if memory.holds.has_work() {
        return Some(REST_MS);
    }
    let sweep_ms = config::hold_sweep_ms();
    match memory.holds.first_due()? {
        // A replica: it begins to expire holds when it becomes a primary.
        _ if ctx.is_replica() => None,
        // Writes are paused, or the time for this tick is over.
        at if at <= now && !ctx.may_write_in_background() => Some(sweep_ms),
        at if at <= now => Some(REST_MS),
        // At most a sweep ahead, since the clock may be set forward.
        at => Some(u64::try_from(at.saturating_sub(now)).unwrap_or(1).min(sweep_ms)),
    }
}

/// Does one step of the work in this tick. False when there is none.
fn work(ctx: Ctx<'_>, memory: &Memory, now: Millis, budget: &Budget) -> bool {
    if let Some(key) = memory.holds.index(|index| index.take_marked()) {
        look(ctx, memory, &key, now);
        return true;
    }
    if ctx.may_write_in_background()
        && let Some(key) = memory.holds.index(|index| index.due(now))
    {
        expire(ctx, memory, &key, now);
        return true;
    }
    budget.is_half_left() && scan(ctx, memory)
}

/// Puts into the index what is at a holds key now.
fn look(ctx: Ctx<'_>, memory: &Memory, key: &DbKey, now: Millis) {
    if is_wait_name(&key.key) {
        look_at_queue(ctx, memory, key, now, |sale| waitlist::next(sale).map(|next| at(&next)));
        return;
    }
    let name = OwnedStr::new(&key.key);
    let skipped = memory.holds.skipped(key, now);
    let behind = skipped.as_ref().map(|skipped| &skipped.behind);
    let found = ctx.select_db(key.db).then(|| book::holds(ctx, name.as_str(), behind)).flatten();
    memory.holds.index(|index| match found {
        Some(holds) => {
            let again = skipped.as_ref().map(|skipped| skipped.until);
            let at = holds.first.into_iter().chain(again).min().unwrap_or(Millis::MAX);
            index.set(key, at, holds.count);
        }
        None => index.remove(key),
    });
}

/// Releases what is due at a holds key, at most one batch of it.
fn expire(ctx: Ctx<'_>, memory: &Memory, key: &DbKey, now: Millis) {
    if !ctx.select_db(key.db) {
        memory.holds.index(|index| index.remove(key));
        return;
    }
    if is_wait_name(&key.key) {
        look_at_queue(ctx, memory, key, now, |sale| {
            queue::promote(memory, sale).map(|next| at(&next))
        });
        return;
    }
    let skipped = memory.holds.skipped(key, now);
    match reap(ctx, memory, key, now, skipped.as_ref()) {
        Ok(Found::Nothing) => memory.holds.index(|index| index.remove(key)),
        // An event says when that changes.
        Ok(Found::NoVoucher) => memory.holds.index(|index| index.park(key)),
        Ok(Found::Holds(reaped)) => {
            if let Some(error) = reaped.refused {
                not_done(ctx, memory, key, error, now);
            }
            let skipped = skip(skipped, reaped, now);
            memory.holds.index(|index| index.skip(key, skipped));
            look(ctx, memory, key, now);
        }
        Err(error) => {
            not_done(ctx, memory, key, error, now);
            let at = now.saturating_add(RETRY_MS);
            memory.holds.index(|index| index.retry(key, at));
        }
    }
}

/// Which holds to leave alone after a batch. None if all of it could be released; else this batch
/// and the skipped ones before it, until all are retried.
fn skip(before: Option<Skipped>, reaped: Reaped, now: Millis) -> Option<Skipped> {
    if before.is_none() && reaped.refused.is_none() {
        return None;
    }
    let until = before.map_or(now.saturating_add(RETRY_MS), |before| before.until);
    let behind = match reaped.last {
        Some(last) if reaped.taken_up >= BATCH_LEN => last,
        // The batch was the rest of what is due now.
        _ => HoldPosition { deadline: now, id: None },
    };
    Some(Skipped { behind, until })
}

/// Puts into the index when to look at a queue again, after this was done with its sale: a look, or
/// promoting some of it.
fn look_at_queue(
    ctx: Ctx<'_>,
    memory: &Memory,
    key: &DbKey,
    now: Millis,
    work: impl Fn(&Sale<'_>) -> Result<Option<Millis>, CommandError>,
) {
    let name = OwnedStr::new(&key.key);
    let is_queue = |key: &ReadKey<'_>| key.kind() == Kind::SortedSet;
    let there = ctx.select_db(key.db)
        && ReadKey::open(ctx, name.as_str()).is_some_and(|key| is_queue(&key));
    if !there {
        memory.holds.index(|index| index.remove(key));
        return;
    }
    match with_sale(ctx, memory, key, |keys| keys.wait, |sale| work(sale)) {
        // An event says when that changes.
        Ok(None) => memory.holds.index(|index| index.park(key)),
        Ok(Some(at)) => memory.holds.index(|index| match at {
            Some(at) => index.set(key, at.clamp(now, now.saturating_add(QUEUE_LOOK_MS)), 0),
            None => index.remove(key),
        }),
        Err(error) => {
            not_done(ctx, memory, key, error, now);
            let at = now.saturating_add(RETRY_MS);
            memory.holds.index(|index| index.retry(key, at));
        }
    }
}

/// When to look at a queue again; none if nobody waits.
fn at(next: &Next<Name<'_>>) -> Option<Millis> {
    match next {
        Next::Nobody => None,
        Next::Later(at) => Some(*at),
        Next::Promote { .. } | Next::End(_) | Next::Stray(_) => Some(Millis::MIN),
    }
}

/// Something was not done: it is tried again after a while, or once the key that it lacks comes.
/// Logs why, at most once per minute.
fn not_done(ctx: Ctx<'_>, memory: &Memory, key: &DbKey, error: CommandError, now: Millis) {
    if let CommandError::Missing { part } = error
        && let Ok(Some((_, keys))) = keys_of(memory, key)
        && let Ok(keys) = keys.managed()
    {
        memory.holds.wait_for(DbKey::new(key.db, keys.needed(part).bytes()), key);
    }
    // A slot that is moving to another node is not an error.
    if error != CommandError::TryAgain && memory.holds.may_complain(now) {
        ctx.warn(&if is_wait_name(&key.key) {
            format!("orders that wait were not promoted and will be tried again: {error}")
        } else {
            format!("expired holds were not released and will be tried again: {error}")
        });
    }
}

/// Works on the managed sale to which a key belongs; None if there is none.
fn with_sale<'a, R>(
    ctx: Ctx<'a>,
    memory: &Memory,
    key: &DbKey,
    which: impl Fn(ManagedKeys<'_>) -> Str<'_>,
    work: impl FnOnce(&Sale<'_>) -> Result<R, CommandError>,
) -> Result<Option<R>, CommandError> {
    let Some((voucher, keys)) = keys_of(memory, key)? else { return Ok(None) };
    let voucher = Voucher(voucher.as_str());
    let opening = Opening::with(ctx, voucher, keys)?;
    let keys = &opening.keys;
    if which(keys.managed()?).bytes() != &*key.key || keys.rules_in(ctx)?.is_none() {
        return Ok(None);
    }
    work(&Sale::of(&opening)).map(Some)
}

/// The voucher whose holds or queue this is, and its keys; none if it can't be one's.
fn keys_of(
    memory: &Memory,
    key: &DbKey,
) -> Result<Option<(OwnedStr, Rc<VoucherKeys>)>, CommandError> {
    let Some(voucher) = voucher_of_timed(&key.key, config::hash_tags()) else { return Ok(None) };
    let voucher = OwnedStr::new(&voucher);
    let keys = memory.vouchers.keys_in_background(Voucher(voucher.as_str()))?;
    Ok(Some((voucher, keys)))
}

/// What is at a key that the index calls due.
enum Found {
    /// No such key.
    Nothing,
    /// Holds without rules, or whose name does not follow the settings: not the module's.
    NoVoucher,
    Holds(Reaped),
}

/// The result of a batch of due holds.
struct Reaped {
    /// How many were handled.
    taken_up: usize,
    /// Why the first of those that are still held could not be released.
    refused: Option<CommandError>,
    /// Where the last of them is.
    last: Option<HoldPosition>,
}

/// Releases a batch of what is due. An order that can't be released stays, and does not stop those
/// after it. An error that concerns all of them ends the batch.
fn reap(
    ctx: Ctx<'_>,
    memory: &Memory,
    key: &DbKey,
    now: Millis,
    skipped: Option<&Skipped>,
) -> Result<Found, CommandError> {
    let name = OwnedStr::new(&key.key);
    if book::holds(ctx, name.as_str(), None).is_none() {
        return Ok(Found::Nothing);
    }
    let reaped = with_sale(
        ctx,
        memory,
        key,
        |keys| keys.holds,
        |sale| {
            let behind = skipped.map(|skipped| &skipped.behind);
            let due = book::due(ctx, name.as_str(), behind, now, BATCH_LEN)?;
            let last = due.last().map(|(id, deadline)| {
                let id = Some(id.as_str().bytes().to_vec());
                HoldPosition { deadline: *deadline, id }
            });
            let mut reaped = Reaped { taken_up: due.len(), refused: None, last };
            for (id, _) in due {
                match end_hold(memory, sale, &Name::Read(Rc::new(id)), Reason::Expired) {
                    Ok(()) => {}
                    Err(error) if error.is_of_one_order() => reaped.refused = Some(error),
                    Err(error) => return Err(error),
                }
            }
            Ok(reaped)
        },
    )?;
    Ok(reaped.map_or(Found::NoVoucher, Found::Holds))
}

/// Takes one step of the scan. False when it is over.
fn scan(ctx: Ctx<'_>, memory: &Memory) -> bool {
    let Some((db, cursor)) = memory.holds.scan(|scan| scan.next()) else { return false };
    let words: [&[u8]; 5] = [&cursor, b"MATCH", TIMED_PATTERN, b"COUNT", SCAN_COUNT];
    let words = words.map(OwnedStr::new);
    let words: Vec<Str<'_>> = words.iter().map(OwnedStr::as_str).collect();
    let reply = if ctx.select_db(db) { Call::read(ctx, c"SCAN", &words).ok() } else { None };
    let Some(reply) = reply else {
        memory.holds.scan(|scan| scan.give_up());
        return true;
    };
    for key in reply.texts_of(1).filter(|key| is_timed_name(key)) {
        memory.holds.mark(db, key);
    }
    memory.holds.scan(|scan| match reply.texts().next() {
        Some(cursor) => scan.went_on(cursor),
        None => scan.give_up(),
    });
    true
}
