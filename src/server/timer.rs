//! One-shot timers of the server's event loop.

use super::api::api;
use super::ctx::Ctx;
use super::main_thread::MainThread;
use super::panics::guarded;
use redis_module::raw;
use std::ffi::c_void;
use std::ptr;

/// A timer that fires once each time it is armed.
///
/// The server refuses MODULE UNLOAD while one is armed: arm it only when something is due, and
/// stop it when nothing is. It fires on replicas and during CLIENT PAUSE too, so a callback that
/// writes asks [`Ctx::may_write_in_background`] first. It does not fire while data is loaded or a
/// script keeps the server busy.
pub(crate) struct Timer {
    on_due: fn(Ctx<'_>),
    id: MainThread<Option<raw::RedisModuleTimerID>>,
}

impl Timer {
    pub(crate) const fn new(on_due: fn(Ctx<'_>)) -> Self {
        Self { on_due, id: MainThread::new(None) }
    }

    /// Fires after so many milliseconds, at least one, instead of when it was armed for before.
    ///
    /// The callback's context has the database of `ctx` selected.
    pub(crate) fn arm(&'static self, ctx: Ctx<'_>, after_ms: u64) {
        self.stop(ctx);
        let period = i64::try_from(after_ms.max(1)).unwrap_or(i64::MAX);
        // SAFETY: the context is live, and the data is a static.
        let id = unsafe {
            api!(RedisModule_CreateTimer(
                ctx.as_ptr(),
                period,
                Some(on_timer),
                ptr::from_ref(self).cast_mut().cast::<c_void>(),
            ))
        };
        self.id.set(Some(id));
    }

    /// Makes it fire no more, if it was armed.
    pub(crate) fn stop(&'static self, ctx: Ctx<'_>) {
        if let Some(id) = self.id.take() {
            // SAFETY: the context is live, a null pointer wants no data back, and the id is that
            // of a timer of ours that has not fired.
            unsafe { api!(RedisModule_StopTimer(ctx.as_ptr(), id, ptr::null_mut())) };
        }
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.id.get().is_some()
    }
}

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, data: *mut c_void) {
    // SAFETY: the data that `Timer::arm` gave: a static.
    let timer = unsafe { &*data.cast::<Timer>() };
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    timer.id.set(None);
    guarded(|| (timer.on_due)(ctx));
}
