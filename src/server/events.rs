//! Events: of keys, of databases, of the server, and the end of each turn of its event loop.
//!
//! A module subscribes once, after everything that can fail: Redis 7.0 keeps the subscriptions of a
//! module whose load was refused, and calls into the unmapped library at the next event.
//!
//! Callbacks only take note. A write inside one is ordered before the write that caused the event,
//! and leaves replicas and the append-only file in another state than the server.

use super::api::api;
use super::ctx::{Ctx, EventClass};
use super::loading;
use super::main_thread::MainThread;
use super::panics::guarded;
use super::settings::IMPORT_MODE;
use super::slots::{SlotEvents, SlotsMoved};
use super::string::{Str, borrow};
use redis_module::raw;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;
use std::time::{Duration, Instant};

/// What a module does at events. None of it may write, except `on_turn_end`.
pub(crate) trait Listener {
    /// Something happened to a key; `ctx` has its database selected. Called in the middle of
    /// whatever fired the event, a call of our own too.
    fn on_key(ctx: Ctx<'_>, event: &CStr, key: Str<'_>);

    /// Something happened to the server or to whole databases.
    fn on_server(ctx: Ctx<'_>, event: ServerEvent);

    /// A turn of the event loop is over, before the server sleeps and before replies leave it.
    ///
    /// A write is safe here, and ordered behind everything that the turn has done, if
    /// [`Ctx::may_write_in_background`]. `ctx` has database 0 selected.
    fn on_turn_end(ctx: Ctx<'_>);
}

/// What happened to the server or to whole databases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ServerEvent {
    /// A database was emptied; None means all databases. No key events are fired for its keys.
    Flushed {
        db: Option<i32>,
    },
    /// Two databases have changed places. Keys fire nothing then.
    Swapped {
        first: i32,
        second: i32,
    },
    /// Data is being loaded from a file or a primary.
    LoadingStarted,
    /// Loading is over, whether it succeeded or not.
    LoadingEnded,
    /// Data that a replica loaded beside its old data has replaced it.
    Replaced,
    BecamePrimary,
    BecameReplica,
    /// Some configuration, ours or not, was set; `import-mode` among others.
    Configured {
        import_mode: bool,
    },
    /// Slots have moved whole.
    Slots(SlotsMoved),
    /// The connection of a client has closed: see [`Ctx::connection`].
    Disconnected {
        connection: u64,
    },
    /// The first turn of the server's cron since the module subscribed: from now on a timer may be
    /// armed. MODULE LOADEX can still undo a load that has succeeded, but not with a timer armed.
    FirstCron,
    /// The system clock was set back, by this many milliseconds.
    ClockSetBack {
        ms: i64,
    },
    /// It was set forward, or the machine was suspended.
    ClockSetForward {
        ms: i64,
    },
}

/// The server events of every server from 7.0 on, at data version 1.
const SERVER_EVENTS: [u64; 8] = [
    raw::REDISMODULE_EVENT_FLUSHDB,
    raw::REDISMODULE_EVENT_SWAPDB,
    raw::REDISMODULE_EVENT_LOADING,
    raw::REDISMODULE_EVENT_REPL_ASYNC_LOAD,
    raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED,
    raw::REDISMODULE_EVENT_CONFIG,
    raw::REDISMODULE_EVENT_CRON_LOOP,
    raw::REDISMODULE_EVENT_SHUTDOWN,
];

/// Does the server know every event that [`subscribe`] asks for? To be asked while the load can
/// still be refused.
pub(crate) fn are_events_known() -> bool {
    // The server answers for the parts of an event, and three of ours have none. Those are older
    // than others here.
    let without_parts = [
        raw::REDISMODULE_EVENT_SWAPDB,
        raw::REDISMODULE_EVENT_CRON_LOOP,
        raw::REDISMODULE_EVENT_SHUTDOWN,
    ];
    let at_need = [raw::REDISMODULE_EVENT_EVENTLOOP, raw::REDISMODULE_EVENT_CLIENT_CHANGE];
    let events = SERVER_EVENTS.into_iter().chain(at_need);
    events.filter(|id| !without_parts.contains(id)).all(|id| {
        let event = raw::RedisModuleEvent { id, dataver: 1 };
        // SAFETY: a question without side effects.
        unsafe { api!(RedisModule_IsSubEventSupported(event, 0)) != 0 }
    })
}

/// Subscribes `L` to key events of these classes and to server events.
///
/// To be called once, when the load can no longer fail. Every SET pays for [`EventClass::String`]:
/// subscribe to it only for a good reason.
pub(crate) fn subscribe<L: Listener>(ctx: Ctx<'_>, classes: &[EventClass]) {
    LOOP.set(Loop::START);
    loading::begin(ctx);
    let flags = classes.iter().fold(0, |flags, class| flags | class.flag());
    // SAFETY: the context is live, and the function has the right type. It can't fail.
    unsafe { api!(RedisModule_SubscribeToKeyspaceEvents(ctx.as_ptr(), flags, Some(on_key::<L>))) };
    for id in SERVER_EVENTS {
        subscribe_to(ctx, id, on_server::<L>);
    }
    if let Some(events) = SlotEvents::of_server(ctx)
        && subscribe_to(ctx, events.id(), on_server::<L>)
    {
        ctx.add_module_options(events.options());
    }
}

/// Subscribes `L` to the ends of turns, too. Costs every turn a little: to be called when first
/// needed. A second call changes nothing.
pub(crate) fn subscribe_to_turns<L: Listener>(ctx: Ctx<'_>) {
    if !LOOP.get().hears_turns {
        LOOP.set(Loop { hears_turns: true, ..LOOP.get() });
        subscribe_to(ctx, raw::REDISMODULE_EVENT_EVENTLOOP, on_turn::<L>);
    }
}

/// Subscribes `L` to connections that close, too. Costs each connection a little when it opens and
/// when it closes: to be called when first needed. A second call changes nothing.
pub(crate) fn subscribe_to_connections<L: Listener>(ctx: Ctx<'_>) {
    if !LOOP.get().hears_connections {
        LOOP.set(Loop { hears_connections: true, ..LOOP.get() });
        subscribe_to(ctx, raw::REDISMODULE_EVENT_CLIENT_CHANGE, on_server::<L>);
    }
}

type Callback =
    unsafe extern "C" fn(*mut raw::RedisModuleCtx, raw::RedisModuleEvent, u64, *mut c_void);

/// False for an event that the server doesn't know: none of those that [`are_events_known`] asks
/// for.
fn subscribe_to(ctx: Ctx<'_>, id: u64, callback: Callback) -> bool {
    let event = raw::RedisModuleEvent { id, dataver: 1 };
    // SAFETY: the context is live and the function has the right type.
    let status =
        unsafe { api!(RedisModule_SubscribeToServerEvent(ctx.as_ptr(), event, Some(callback))) };
    status == raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_key<L: Listener>(
    ctx: *mut raw::RedisModuleCtx,
    _class: c_int,
    event: *const c_char,
    key: *mut raw::RedisModuleString,
) -> c_int {
    // SAFETY: context and key are the server's and live for this call.
    let (ctx, key) = unsafe { (Ctx::new(ctx), borrow(key)) };
    // SAFETY: the event is a C string of the server's that lives for this call.
    let event = unsafe { CStr::from_ptr(event) };
    if let Some(key) = key {
        guarded(|| L::on_key(ctx, event, key));
    }
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_server<L: Listener>(
    ctx: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    part: u64,
    data: *mut c_void,
) {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    let event = if event.id == raw::REDISMODULE_EVENT_CRON_LOOP {
        clock_event(ctx)
    } else if event.id == raw::REDISMODULE_EVENT_SHUTDOWN {
        loading::note_exit();
        None
    } else {
        // SAFETY: event and data are as the server passed them.
        unsafe { server_event(event.id, part, data) }
    };
    if let Some(event) = event {
        guarded(|| L::on_server(ctx, event));
    }
}

/// The cron goes by the monotonic clock, some ten times per second (`hz`).
fn clock_event(ctx: Ctx<'_>) -> Option<ServerEvent> {
    let (at, now_ms) = (Instant::now(), ctx.now_ms());
    let state = LOOP.get();
    let Some(last) = state.cron else {
        LOOP.set(Loop { cron: Some(Cron { now_ms, at }), ..state });
        return Some(ServerEvent::FirstCron);
    };
    // The two clocks must have been read together, or there is nothing to compare.
    if at.elapsed() >= CLOCK_STEP_MIN {
        return None;
    }
    LOOP.set(Loop { cron: Some(Cron { now_ms, at }), ..state });
    let passed_ms = i64::try_from(at.duration_since(last.at).as_millis()).unwrap_or(i64::MAX);
    let ms = now_ms.saturating_sub(last.now_ms).saturating_sub(passed_ms);
    if u128::from(ms.unsigned_abs()) < CLOCK_STEP_MIN.as_millis() {
        return None;
    }
    Some(match ms {
        ..0 => ServerEvent::ClockSetBack { ms: ms.saturating_neg() },
        _ => ServerEvent::ClockSetForward { ms },
    })
}

/// # Safety
/// `data` must be what the server passes with the event `id`, at data version 1.
unsafe fn server_event(id: u64, part: u64, data: *mut c_void) -> Option<ServerEvent> {
    Some(match (id, part) {
        (raw::REDISMODULE_EVENT_FLUSHDB, raw::REDISMODULE_SUBEVENT_FLUSHDB_END) => {
            // SAFETY: by the caller; the server passes this struct with a FLUSHDB event.
            let info = unsafe { data.cast::<raw::RedisModuleFlushInfo>().as_ref() }?;
            ServerEvent::Flushed { db: (info.dbnum >= 0).then_some(info.dbnum) }
        }
        (raw::REDISMODULE_EVENT_SWAPDB, _) => {
            // SAFETY: by the caller; the server passes this struct with a SWAPDB event.
            let info = unsafe { data.cast::<raw::RedisModuleSwapDbInfo>().as_ref() }?;
            ServerEvent::Swapped { first: info.dbnum_first, second: info.dbnum_second }
        }
        (
            raw::REDISMODULE_EVENT_LOADING,
            raw::REDISMODULE_SUBEVENT_LOADING_ENDED | raw::REDISMODULE_SUBEVENT_LOADING_FAILED,
        ) => ServerEvent::LoadingEnded,
        (raw::REDISMODULE_EVENT_LOADING, _) => ServerEvent::LoadingStarted,
        (
            raw::REDISMODULE_EVENT_REPL_ASYNC_LOAD,
            raw::REDISMODULE_SUBEVENT_REPL_ASYNC_LOAD_COMPLETED,
        ) => ServerEvent::Replaced,
        (
            raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED,
            raw::REDISMODULE_EVENT_REPLROLECHANGED_NOW_MASTER,
        ) => ServerEvent::BecamePrimary,
        (raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, _) => ServerEvent::BecameReplica,
        (raw::REDISMODULE_EVENT_CONFIG, _) => {
            // SAFETY: by the caller; the server passes this struct with a CONFIG event.
            let change = unsafe { data.cast::<raw::RedisModuleConfigChangeV1>().as_ref() }?;
            let count = usize::try_from(change.num_changes).unwrap_or(0);
            // SAFETY: as above; so many names, each a C string that lives for this call.
            let mut names = (0..count)
                .map(|place| unsafe { CStr::from_ptr(*change.config_names.wrapping_add(place)) });
            ServerEvent::Configured { import_mode: names.any(|name| name == IMPORT_MODE) }
        }
        (
            raw::REDISMODULE_EVENT_CLIENT_CHANGE,
            raw::REDISMODULE_SUBEVENT_CLIENT_CHANGE_DISCONNECTED,
        ) => {
            // SAFETY: by the caller; the server passes this struct with this event.
            let info = unsafe { data.cast::<raw::RedisModuleClientInfo>().as_ref() }?;
            ServerEvent::Disconnected { connection: info.id }
        }
        _ => {
            // SAFETY: by the caller; such an event is subscribed to on its own kind of server only.
            let moved = unsafe { SlotEvents::with_id(id)?.read(part, data) };
            ServerEvent::Slots(moved?)
        }
    })
}

/// Where the server's event loop is.
#[derive(Clone, Copy)]
struct Loop {
    hears_turns: bool,
    hears_connections: bool,
    /// From the end of a turn to the beginning of the next. Redis 7.0 still runs commands then:
    /// those that a client sent behind one that blocked it.
    is_turn_over: bool,
    /// The next turn follows at once already.
    turns_again: bool,
    /// The latest cron.
    cron: Option<Cron>,
}

/// A turn of the server's cron, by both clocks.
#[derive(Clone, Copy)]
struct Cron {
    now_ms: i64,
    at: Instant,
}

/// By how much the clock of the calendar must differ from the other for a step. What is less makes
/// no timer later than a cron is.
const CLOCK_STEP_MIN: Duration = Duration::from_millis(50);

impl Loop {
    const START: Self = Self {
        hears_turns: false,
        hears_connections: false,
        is_turn_over: false,
        turns_again: false,
        cron: None,
    };
}

static LOOP: MainThread<Loop> = MainThread::new(Loop::START);

unsafe extern "C" fn on_turn<L: Listener>(
    ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    part: u64,
    _data: *mut c_void,
) {
    if part != raw::REDISMODULE_SUBEVENT_EVENTLOOP_BEFORE_SLEEP {
        LOOP.set(Loop { is_turn_over: false, turns_again: false, ..LOOP.get() });
        return;
    }
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    guarded(|| L::on_turn_end(ctx));
    LOOP.set(Loop { is_turn_over: true, ..LOOP.get() });
}

/// Has the end of this turn passed, so that whatever happens now waits for the next?
pub(crate) fn is_turn_over() -> bool {
    LOOP.get().is_turn_over
}

/// Makes the event loop turn once more before it sleeps.
///
/// Needed for a timer that [`Listener::on_turn_end`] arms: Redis 7.0 has decided by then how long
/// it is going to sleep.
pub(crate) fn turn_again() {
    if LOOP.get().turns_again {
        return;
    }
    LOOP.set(Loop { turns_again: true, ..LOOP.get() });
    // SAFETY: the function has the right type, needs no data and is there until the next turn. It
    // fails only for a null function.
    unsafe { api!(RedisModule_EventLoopAddOneShot(Some(on_turn_again), ptr::null_mut())) };
}

/// That there is a turn is all that was wanted.
unsafe extern "C" fn on_turn_again(_data: *mut c_void) {}
