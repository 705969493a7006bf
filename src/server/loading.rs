//! What the server calls when it loads the library, and when it is asked to unload it.
//!
//! Servers keep pointers into a module that was used: to the latest command of each client, to
//! those that wait for EXEC or were parsed ahead, to those that rules of users name. They follow
//! them after the module is gone, and most of them can't be seen. So a load is final, but where
//! the server itself undoes it.

use super::ctx::{Ctx, log};
use super::filter::{CommandFilter, Filter, FilteredCall};
use super::main_thread::MainThread;
use super::panics::guarded;
use super::string::{Str, argv_slice};
use redis_module::raw;
use std::ffi::{CStr, c_int};
use std::ptr;

const OK: c_int = raw::REDISMODULE_OK as c_int;
const ERR: c_int = raw::REDISMODULE_ERR as c_int;

/// Introduces the module to the server under this name and version, then loads it. `load` gets the
/// words behind the path of the library; false refuses.
///
/// A name that another module has is the one refusal of the server's that it does not log.
///
/// # Safety
/// To be called by the server alone, as it calls `RedisModule_OnLoad`.
pub(crate) unsafe fn on_load(
    ctx: *mut raw::RedisModuleCtx,
    (argv, argc): (*mut *mut raw::RedisModuleString, c_int),
    (name, version): (&CStr, c_int),
    load: fn(Ctx<'_>, &[Str<'_>]) -> bool,
) -> c_int {
    let api_version = raw::REDISMODULE_APIVER_1 as c_int;
    // SAFETY: the server's context, and a name that lives for ever. Nothing is allocated before.
    if unsafe { raw::Export_RedisModule_Init(ctx, name.as_ptr(), version, api_version) } == ERR {
        log(
            ptr::null_mut(),
            c"warning",
            "<seckill> not loaded: a module of this name is loaded already; keep one of the lines \
             and options that load it",
        );
        return ERR;
    }
    // SAFETY: the context and the words live for this call.
    let (ctx, words) = unsafe { (Ctx::new(ctx), argv_slice(argv, argc)) };
    if guarded(|| load(ctx, words)) == Some(true) { OK } else { ERR }
}

/// What has happened since the load began.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// MODULE LOADEX undoes a load that has succeeded at once, when one of its settings is unknown.
    Loading,
    Loaded,
    /// Newer servers unload their modules before they exit.
    Exiting,
}

static PHASE: MainThread<Phase> = MainThread::new(Phase::Loading);

/// Sees the first command after the load.
static FIRST_COMMAND: MainThread<Option<CommandFilter>> = MainThread::new(None);

struct FirstCommand;

impl Filter for FirstCommand {
    fn wants(_name: &[u8]) -> bool {
        note_loaded();
        false
    }

    fn see(_call: FilteredCall<'_>) {}
}

fn note_loaded() {
    if PHASE.get() == Phase::Loading {
        PHASE.set(Phase::Loaded);
    }
}

/// The load is over with the next command, or with the first cron.
pub(super) fn begin(ctx: Ctx<'_>) {
    PHASE.set(Phase::Loading);
    FIRST_COMMAND.set(CommandFilter::register::<FirstCommand>(ctx));
}

pub(crate) fn note_first_cron(ctx: Ctx<'_>) {
    note_loaded();
    if let Some(filter) = FIRST_COMMAND.take() {
        filter.unregister(ctx);
    }
}

pub(super) fn note_exit() {
    PHASE.set(Phase::Exiting);
}

/// Is nothing left that could point into the module?
pub(crate) fn may_unload() -> bool {
    PHASE.get() != Phase::Loaded
}

/// Asks the module whether it can be unloaded; false refuses.
///
/// # Safety
/// To be called by the server alone, as it calls `RedisModule_OnUnload`.
pub(crate) unsafe fn on_unload(
    ctx: *mut raw::RedisModuleCtx,
    unload: fn(Ctx<'_>) -> bool,
) -> c_int {
    // SAFETY: the context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    if guarded(|| unload(ctx)) == Some(true) { OK } else { ERR }
}
