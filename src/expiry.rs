//! Holds whose deadline passes are given back: by a timer of the primary, in bounded steps.
//!
//! The truth is in the holds keys. [`DueIndex`] knows when to look at which; events of keys mark
//! what changed, and only the timer looks and writes.

use crate::args::Voucher as VoucherName;
use crate::commands::managed::Voucher;
use crate::config;
use crate::error::CommandError;
use crate::keyspace::names::{self, VoucherKeys};
use crate::keyspace::{book, prefixes, recent, terms};
use domain::due::{DueIndex, Place};
use domain::terms::Millis;
use crate::server::{
    Call, Ctx, EventClass, KeyListener, MainThread, OwnedStr, ServerEvent, Str, Timer,
    listen_to_keys, listen_to_server,
};
use std::ffi::CStr;

/// How long a tick may work before what it did is replicated, which takes about as long again. A
/// million holds due at once are given back over many ticks.
const TICK_MS_MAX: Millis = 1;

/// How long the server is left to its clients between two ticks when more is due.
const REST_MS: u64 = 1;

/// How many holds are taken up before the clock is looked at again.
const BATCH_LEN: usize = 25;

/// When to look again at holds that could not be given back, say for a stream of the wrong type.
const RETRY_MS: Millis = 1000;

/// How many keys a step of the scan asks for.
const SCAN_COUNT: &[u8] = b"500";

/// How many steps of a scan are taken at once however long they take: enough for some empty
/// databases, so that a module without holds can be unloaded right after it was loaded.
const STEPS_AT_ONCE: u32 = 32;

static TIMER: Timer = Timer::new(on_tick);
static INDEX: MainThread<Option<Box<DueIndex>>> = MainThread::new(None);

/// Where the scan for holds that were there before the module stands; none when it is over.
static SCAN: MainThread<Option<Scan>> = MainThread::new(None);

/// The configurations that the last scan began under.
static SCANNED_AS: MainThread<u64> = MainThread::new(0);

struct Scan {
    db: i32,
    /// As the server gave it; empty at the start of a database.
    cursor: Vec<u8>,
}

impl Scan {
    const START: Self = Self { db: 0, cursor: Vec::new() };
}

/// Works on the index. `work` must not call the server, which could call back into here.
fn with_index<R>(work: impl FnOnce(&mut DueIndex) -> R) -> R {
    let mut index = INDEX.take().unwrap_or_default();
    let result = work(&mut index);
    INDEX.set(Some(index));
    result
}

/// Begins to listen. False when the server refuses.
pub(crate) fn begin(ctx: Ctx<'_>) -> bool {
    INDEX.set(None);
    // The classes of everything that can happen to a sorted set, and of keys that appear. String
    // events are not among them: each SET of everybody would pay.
    let classes = [
        EventClass::Generic,
        EventClass::SortedSet,
        EventClass::Expired,
        EventClass::Evicted,
        EventClass::Loaded,
        EventClass::New,
    ];
    listen_to_keys::<Keys>(ctx, &classes) && listen_to_server(ctx, on_server_event)
}

/// Looks for holds that nobody told of: those that were there before the module. To be called when
/// nothing can fail any more.
///
/// A small keyspace, and that of a server that is only starting, is done with at once.
pub(crate) fn begin_scan(ctx: Ctx<'_>) {
    SCANNED_AS.set(config::generation());
    SCAN.set(Some(Scan::START));
    let db = ctx.selected_db();
    let end = ctx.now_ms().saturating_add(TICK_MS_MAX);
    let (mut is_over, mut steps) = (false, 0u32);
    while !is_over && (steps < STEPS_AT_ONCE || ctx.now_ms() < end) {
        is_over = !scan(ctx);
        steps = steps.saturating_add(1);
    }
    ctx.select_db(db);
    if !is_over || with_index(|index| index.next()).is_some() {
        TIMER.arm(ctx, 1);
    }
}

/// Stops everything: the module is being unloaded.
pub(crate) fn end(ctx: Ctx<'_>) {
    TIMER.stop(ctx);
    INDEX.set(None);
    SCAN.set(None);
}

/// How many holds are open, as far as they have been looked at.
pub(crate) fn holds_open() -> u64 {
    with_index(|index| index.holds())
}

struct Keys;

impl KeyListener for Keys {
    fn heard(ctx: Ctx<'_>, _event: &CStr, key: Str<'_>) {
        let name = key.bytes();
        recent::changed(name);
        if prefixes::is_holds_name(name) {
            names::holds_changed(name);
            mark(ctx, name);
        } else if prefixes::is_terms_name(name) {
            names::forget_last();
            // Holds without terms are left alone. Now they may have some.
            if let Some(holds) = prefixes::holds_name_of_terms(name) {
                mark(ctx, &holds);
            }
        }
    }
}

/// Notes that a holds key is to be looked at, and sees to it that this happens soon.
fn mark(ctx: Ctx<'_>, holds: &[u8]) {
    let db = ctx.selected_db();
    with_index(|index| index.mark(db, holds));
    if !TIMER.is_armed() && !ctx.is_replica() {
        TIMER.arm(ctx, 1);
    }
}

fn on_server_event(ctx: Ctx<'_>, event: ServerEvent) {
    names::forget_last();
    recent::forget();
    match event {
        ServerEvent::Flushed { db } => with_index(|index| index.flushed(db)),
        ServerEvent::Swapped { first, second } => with_index(|index| index.swapped(first, second)),
        ServerEvent::LoadingStarted => {}
        ServerEvent::LoadingEnded => {
            with_index(DueIndex::mark_all);
            TIMER.arm(ctx, 1);
        }
        // Nobody may have looked at the holds of a replica for long: all are looked for anew.
        ServerEvent::BecamePrimary => {
            SCAN.set(Some(Scan::START));
            TIMER.arm(ctx, 1);
        }
        ServerEvent::BecameReplica => TIMER.stop(ctx),
        // Holds that were of no voucher may be of one under other names.
        ServerEvent::Configured if SCANNED_AS.get() != config::generation() => begin_scan(ctx),
        ServerEvent::Configured => {}
    }
}

fn on_tick(ctx: Ctx<'_>) {
    if ctx.is_replica() {
        // Its primary expires for it. It begins when it becomes one.
        return;
    }
    let mut now = ctx.now_ms();
    if ctx.may_write_in_background() {
        let end = now.saturating_add(TICK_MS_MAX);
        while now < end && work(ctx, now) {
            now = ctx.now_ms();
        }
    }
    let sweep_ms = config::hold_sweep_ms();
    let is_scanning = SCAN.take().map(|scan| SCAN.set(Some(scan))).is_some();
    let next = with_index(|index| index.next());
    let wait_ms = match next {
        // Writes are paused, or the time for this tick is over.
        Some(at) if at <= now && !ctx.may_write_in_background() => Some(sweep_ms),
        Some(at) if at <= now => Some(REST_MS),
        // Not later than a sweep: the clock of the deadlines may be set, and timers don't heed it.
        Some(at) => Some(u64::try_from(at.saturating_sub(now)).unwrap_or(1).min(sweep_ms)),
        None => None,
    };
    let wait_ms = if is_scanning { Some(REST_MS) } else { wait_ms };
    if let Some(wait_ms) = wait_ms {
        TIMER.arm(ctx, wait_ms);
    }
}

/// Does one step of what there is to do. False when there is nothing.
fn work(ctx: Ctx<'_>, now: Millis) -> bool {
    if let Some(place) = with_index(DueIndex::take_marked) {
        look(ctx, place);
        true
    } else if let Some(place) = with_index(|index| index.due(now)) {
        expire(ctx, place, now);
        true
    } else {
        scan(ctx)
    }
}

/// Notes what there is at a holds key now.
fn look(ctx: Ctx<'_>, place: Place) {
    let key = OwnedStr::new(&place.key);
    let first = ctx.select_db(place.db).then(|| book::first_hold(ctx, key.as_str())).flatten();
    with_index(|index| match first {
        Some((deadline, holds)) => index.set(place, deadline, holds),
        None => index.remove(&place),
    });
}

/// Gives back what is due at a holds key, or a batch of it.
fn expire(ctx: Ctx<'_>, place: Place, now: Millis) {
    if !ctx.select_db(place.db) {
        with_index(|index| index.remove(&place));
        return;
    }
    match reap(ctx, &place) {
        Ok(true) => look(ctx, place),
        // The holds have no terms, or are not of this naming: nothing of ours. An event tells when
        // that changes.
        Ok(false) => with_index(|index| index.remove(&place)),
        Err(error) => {
            complain(ctx, error, now);
            with_index(|index| index.retry(place, now.saturating_add(RETRY_MS)));
        }
    }
}

/// When the log was told last that holds could not be given back.
static COMPLAINED: MainThread<Millis> = MainThread::new(0);

/// Tells the log, at most once a minute, why holds could not be given back.
fn complain(ctx: Ctx<'_>, error: CommandError, now: Millis) {
    if now.saturating_sub(COMPLAINED.get()) >= 60_000 {
        COMPLAINED.set(now);
        ctx.warn(&format!("expired holds stay for now: {error}"));
    }
}

/// Gives back a batch of what is due. False when the key is not that of a managed voucher.
fn reap(ctx: Ctx<'_>, place: &Place) -> Result<bool, CommandError> {
    let Some(voucher) = prefixes::voucher_of_holds(&place.key) else { return Ok(false) };
    let voucher = OwnedStr::new(&voucher);
    let voucher = VoucherName(voucher.as_str());
    let keys = VoucherKeys::of(voucher)?;
    keys.check_here(ctx)?;
    let Some(terms) = terms::read(ctx, keys.terms())? else { return Ok(false) };
    let voucher = Voucher::new(ctx, &keys, voucher, terms)?;
    if voucher.keys.holds.bytes() != place.key {
        return Ok(false);
    }
    voucher.reap(BATCH_LEN)?;
    Ok(true)
}

/// Takes one step of the scan. False when it is over.
fn scan(ctx: Ctx<'_>) -> bool {
    let Some(Scan { db, cursor }) = SCAN.take() else { return false };
    if !ctx.select_db(db) {
        return false;
    }
    let pattern = [prefixes::HOLDS_PREFIX, b"*"].concat();
    let from = if cursor.is_empty() { b"0" } else { cursor.as_slice() };
    let words: [&[u8]; 5] = [from, b"MATCH", &pattern, b"COUNT", SCAN_COUNT];
    let words = words.map(OwnedStr::new);
    let words: Vec<Str<'_>> = words.iter().map(OwnedStr::as_str).collect();
    let Ok(reply) = Call::read_all(ctx, c"SCAN", &words) else { return false };
    for key in reply.texts_of(1) {
        with_index(|index| index.mark(db, key));
    }
    let next = match reply.texts().next() {
        None | Some(b"0") => Scan { db: db.saturating_add(1), cursor: Vec::new() },
        Some(cursor) => Scan { db, cursor: cursor.to_vec() },
    };
    SCAN.set(Some(next));
    true
}
