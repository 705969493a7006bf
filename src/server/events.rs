//! Hearing of what happens: to keys, to databases, to the server, and at the end of each turn of
//! its event loop.
//!
//! Callbacks only take note. A write inside one comes out before the write that it was told of,
//! and leaves replicas and the append-only file in another state than the server.

use super::api::api;
use super::ctx::{Ctx, EventClass};
use super::main_thread::MainThread;
use super::panics::guarded;
use super::string::{Str, borrow};
use redis_module::raw;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr;

/// Hears of events of keys.
pub(crate) trait KeyListener {
    /// `ctx` has the key's database selected. Called in the middle of whatever fired the event, a
    /// call of our own too. Must not write.
    fn heard(ctx: Ctx<'_>, event: &CStr, key: Str<'_>);
}

/// Makes `L` hear of the events of these classes from now on, until the module is unloaded. Once a
/// listener: called twice, it hears twice. False when the server refuses.
///
/// Subscribe to [`EventClass::String`] only for a good reason: every SET of everybody pays.
pub(crate) fn listen_to_keys<L: KeyListener>(ctx: Ctx<'_>, classes: &[EventClass]) -> bool {
    let flags = classes.iter().fold(0, |flags, class| flags | class.flag());
    // SAFETY: the context is live, and the function has the right type.
    let status = unsafe {
        api!(RedisModule_SubscribeToKeyspaceEvents(ctx.as_ptr(), flags, Some(on_key_event::<L>)))
    };
    status == raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn on_key_event<L: KeyListener>(
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
        guarded(|| L::heard(ctx, event, key));
    }
    raw::REDISMODULE_OK as c_int
}

/// What happened to the server or to whole databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ServerEvent {
    /// A database was emptied; all of them when there is no number. Keys fire nothing then.
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
    /// Loading is over, well or not.
    LoadingEnded,
    BecamePrimary,
    BecameReplica,
    /// Some configuration, ours or not, was set.
    Configured,
}

/// Hears of server events. Must not write.
pub(crate) type ServerListener = fn(Ctx<'_>, ServerEvent);

const LISTENERS_MAX: usize = 4;

/// The server keeps one function a module and event, so this is where the listeners are told.
static LISTENERS: MainThread<[Option<ServerListener>; LISTENERS_MAX]> =
    MainThread::new([None; LISTENERS_MAX]);

/// Makes `listener` hear of server events from now on. False when the server refuses.
pub(crate) fn listen_to_server(ctx: Ctx<'_>, listener: ServerListener) -> bool {
    let mut listeners = LISTENERS.get();
    let Some(free) = listeners.iter_mut().find(|slot| slot.is_none()) else { return false };
    *free = Some(listener);
    LISTENERS.set(listeners);
    [
        raw::REDISMODULE_EVENT_FLUSHDB,
        raw::REDISMODULE_EVENT_SWAPDB,
        raw::REDISMODULE_EVENT_LOADING,
        raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED,
        raw::REDISMODULE_EVENT_CONFIG,
    ]
    .into_iter()
    .all(|id| subscribe(ctx, id, on_server_event))
}

unsafe extern "C" fn on_server_event(
    ctx: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    part: u64,
    data: *mut c_void,
) {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    // SAFETY: event and data are as the server passed them.
    let Some(event) = (unsafe { server_event(event.id, part, data) }) else { return };
    for listener in LISTENERS.get().into_iter().flatten() {
        guarded(|| listener(ctx, event));
    }
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
            raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED,
            raw::REDISMODULE_EVENT_REPLROLECHANGED_NOW_MASTER,
        ) => ServerEvent::BecamePrimary,
        (raw::REDISMODULE_EVENT_REPLICATION_ROLE_CHANGED, _) => ServerEvent::BecameReplica,
        (raw::REDISMODULE_EVENT_CONFIG, _) => ServerEvent::Configured,
        _ => return None,
    })
}

/// Hears of the server's cron, some ten times a second (`hz`). Must not write.
pub(crate) type CronListener = fn(Ctx<'_>);

static CRON_LISTENER: MainThread<Option<CronListener>> = MainThread::new(None);

/// Makes `listener` hear of the cron from now on, in place of any before. False when the server
/// refuses.
pub(crate) fn listen_to_cron(ctx: Ctx<'_>, listener: CronListener) -> bool {
    CRON_LISTENER.set(Some(listener));
    subscribe(ctx, raw::REDISMODULE_EVENT_CRON_LOOP, on_cron)
}

unsafe extern "C" fn on_cron(
    ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    _part: u64,
    _data: *mut c_void,
) {
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    if let Some(listener) = CRON_LISTENER.get() {
        guarded(|| listener(ctx));
    }
}

/// Does the work of a turn, before the server sleeps and before replies leave it.
///
/// Here a write is safe, and ordered behind everything that the turn has done, if
/// [`Ctx::may_write_in_background`]. `ctx` has database 0 selected.
pub(crate) type TurnListener = fn(Ctx<'_>);

static TURN_LISTENERS: MainThread<[Option<TurnListener>; LISTENERS_MAX]> =
    MainThread::new([None; LISTENERS_MAX]);

/// Makes `listener` run at the end of each turn of the event loop from now on. False when the
/// server refuses. Costs every turn a little: subscribe at the first need.
pub(crate) fn listen_to_turns(ctx: Ctx<'_>, listener: TurnListener) -> bool {
    let mut listeners = TURN_LISTENERS.get();
    let Some(free) = listeners.iter_mut().find(|slot| slot.is_none()) else { return false };
    *free = Some(listener);
    TURN_LISTENERS.set(listeners);
    subscribe(ctx, raw::REDISMODULE_EVENT_EVENTLOOP, on_turn)
}

unsafe extern "C" fn on_turn(
    ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    part: u64,
    _data: *mut c_void,
) {
    if part != raw::REDISMODULE_SUBEVENT_EVENTLOOP_BEFORE_SLEEP {
        IS_TURN_OVER.set(false);
        TURNS_AGAIN.set(false);
        return;
    }
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    for listener in TURN_LISTENERS.get().into_iter().flatten() {
        guarded(|| listener(ctx));
    }
    IS_TURN_OVER.set(true);
}

/// Set from the end of a turn to the beginning of the next. Redis 7.0 still runs commands then:
/// those that a client sent behind one that blocked it.
static IS_TURN_OVER: MainThread<bool> = MainThread::new(false);

/// Set when the next turn follows at once already.
static TURNS_AGAIN: MainThread<bool> = MainThread::new(false);

/// Has the end of this turn been, so that whatever happens now waits for the next?
pub(crate) fn is_turn_over() -> bool {
    IS_TURN_OVER.get()
}

/// Makes the event loop turn once more before it sleeps.
///
/// Needed for a timer that a [`TurnListener`] arms: Redis 7.0 has decided by then how long it is
/// going to sleep. To be used only while a timer is armed or a client blocked, which keeps the
/// module from being unloaded before the turn.
pub(crate) fn turn_again() {
    if TURNS_AGAIN.get() {
        return;
    }
    TURNS_AGAIN.set(true);
    // SAFETY: the function has the right type, needs no data and is there until the next turn. It
    // fails only for a null function.
    unsafe { api!(RedisModule_EventLoopAddOneShot(Some(on_turn_again), ptr::null_mut())) };
}

/// That there is a turn is all that was wanted.
unsafe extern "C" fn on_turn_again(_data: *mut c_void) {}

/// Forgets who listens: the module is being loaded or unloaded. The server itself drops the
/// subscriptions of a module that goes.
pub(crate) fn forget() {
    LISTENERS.set([None; LISTENERS_MAX]);
    TURN_LISTENERS.set([None; LISTENERS_MAX]);
    CRON_LISTENER.set(None);
    IS_TURN_OVER.set(false);
    TURNS_AGAIN.set(false);
}

type Callback =
    unsafe extern "C" fn(*mut raw::RedisModuleCtx, raw::RedisModuleEvent, u64, *mut c_void);

fn subscribe(ctx: Ctx<'_>, id: u64, callback: Callback) -> bool {
    let event = raw::RedisModuleEvent { id, dataver: 1 };
    // SAFETY: the context is live, the function has the right type, and all servers from 7.0 on
    // know these events at data version 1. A second subscription replaces the first.
    let status =
        unsafe { api!(RedisModule_SubscribeToServerEvent(ctx.as_ptr(), event, Some(callback))) };
    status == raw::REDISMODULE_OK as c_int
}
