//! `BASELINE.TURNS`: the turns of the server's event loop since the last call, and the CPU time
//! of the longest one in nanoseconds.
//!
//! The clock is the main thread's CPU time, read whenever the loop wakes up. The difference of two
//! readings is the work of the main thread in one turn, in all callbacks, without the time in which
//! it slept, waited for the disk, or another process used its core.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use redis_module::{Context, RedisError, RedisResult, RedisString, RedisValue, raw};

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static TURNS: AtomicU64 = AtomicU64::new(0);
static LONGEST_NS: AtomicU64 = AtomicU64::new(0);
static TURN_BEGAN_NS: AtomicU64 = AtomicU64::new(0);

/// Replies the number of turns and the longest of them since the last call, and resets both. The
/// counting begins with the first call, so that a server without calls is not slowed down.
pub fn command(ctx: &Context, _args: Vec<RedisString>) -> RedisResult {
    if !IS_COUNTING.swap(true, Relaxed) {
        subscribe(ctx)?;
    }
    let turns = TURNS.swap(0, Relaxed);
    let longest_ns = LONGEST_NS.swap(0, Relaxed);
    TURN_BEGAN_NS.store(cpu_ns(), Relaxed);
    let numbers = [turns, longest_ns].map(|number| RedisValue::Integer(number.cast_signed()));
    Ok(RedisValue::Array(numbers.into()))
}

fn subscribe(ctx: &Context) -> Result<(), RedisError> {
    let event = raw::RedisModuleEvent { id: raw::REDISMODULE_EVENT_EVENTLOOP, dataver: 1 };
    // SAFETY: the pointer is written when the module is loaded and never again.
    let subscribe = unsafe { raw::RedisModule_SubscribeToServerEvent };
    let subscribe = subscribe.ok_or(RedisError::Str("ERR the server has no server events"))?;
    // SAFETY: the context is live, and the callback has the right type.
    match unsafe { subscribe(ctx.ctx, event, Some(on_event_loop)) } {
        0 => Ok(()),
        _ => Err(RedisError::Str("ERR the server does not know this event")),
    }
}

extern "C" fn on_event_loop(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    part: u64,
    _data: *mut c_void,
) {
    if part != raw::REDISMODULE_SUBEVENT_EVENTLOOP_AFTER_SLEEP {
        return;
    }
    let now_ns = cpu_ns();
    let turn_ns = now_ns.saturating_sub(TURN_BEGAN_NS.swap(now_ns, Relaxed));
    TURNS.fetch_add(1, Relaxed);
    LONGEST_NS.fetch_max(turn_ns, Relaxed);
}

/// The CPU time of this thread, which is the main thread.
fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a timespec that lives for this call.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    time.tv_sec.cast_unsigned() * 1_000_000_000 + time.tv_nsec.cast_unsigned()
}
