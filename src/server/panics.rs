//! A panic is a bug of ours, and must not crash the server.

use super::ctx::log;
use std::panic::{self, AssertUnwindSafe, catch_unwind};
use std::ptr;

/// Makes a panic write its place and its message into the server's log, one line each.
///
/// The standard hook prints a backtrace where RUST_BACKTRACE asks for one, and walking the stack
/// of a stripped server can itself kill the server.
pub(crate) fn install() {
    panic::set_hook(Box::new(|info| {
        let place = info.location().map_or_else(String::new, ToString::to_string);
        let payload = info.payload();
        let message = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no message");
        log(ptr::null_mut(), c"warning", &format!("<seckill> a bug: panicked at {place}"));
        log(ptr::null_mut(), c"warning", &format!("<seckill> a bug: {message}"));
    }));
}

/// Forgets the hook: its code is about to be unloaded.
pub(crate) fn remove() {
    drop(panic::take_hook());
}

/// Runs a callback of the server's. A panic ends it, is logged by the hook, and goes no further:
/// then there is no result.
pub(super) fn guarded<R>(callback: impl FnOnce() -> R) -> Option<R> {
    catch_unwind(AssertUnwindSafe(callback)).ok()
}
