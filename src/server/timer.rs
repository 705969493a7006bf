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
/// Arm it only when something is due, and stop it when nothing is. It fires on replicas and during
/// CLIENT PAUSE too, so a callback that writes asks [`Ctx::may_write_in_background`] first. It does
/// not fire while data is loaded or a script keeps the server busy.
pub(crate) struct Timer {
    on_due: fn(Ctx<'_>),
    /// The timer that is armed, and the moment it is armed for.
    armed: MainThread<Option<(raw::RedisModuleTimerID, i64)>>,
}

impl Timer {
    pub(crate) const fn new(on_due: fn(Ctx<'_>)) -> Self {
        Self { on_due, armed: MainThread::new(None) }
    }

    /// Fires after so many milliseconds, at least one, instead of when it was armed for before.
    ///
    /// The server fires in one pass all that is due by the clock as it was when the pass began. So
    /// what a timer's callback arms is armed for later than that: if the clock was set back
    /// meanwhile, it would be due at once, again and again, and the server would do nothing else.
    /// The listener of that change of the clock arms it again.
    ///
    /// The callback's context has the database of `ctx` selected.
    pub(crate) fn arm(&'static self, ctx: Ctx<'_>, after_ms: u64) {
        self.stop(ctx);
        let now_ms = ctx.now_ms();
        let since_pass_ms = PASS_BEGAN_MS.get().map_or(0, |began| began.saturating_sub(now_ms));
        let period = i64::try_from(after_ms.max(1)).unwrap_or(i64::MAX);
        let period = period.saturating_add(since_pass_ms.max(0));
        // SAFETY: the context is live, and the data is a static.
        let id = unsafe {
            api!(RedisModule_CreateTimer(
                ctx.as_ptr(),
                period,
                Some(on_timer),
                ptr::from_ref(self).cast_mut().cast::<c_void>(),
            ))
        };
        self.armed.set(Some((id, now_ms.saturating_add(period))));
    }

    /// Disarms the timer, if it was armed.
    pub(crate) fn stop(&'static self, ctx: Ctx<'_>) {
        if let Some((id, _)) = self.armed.take() {
            // SAFETY: the context is live, a null pointer wants no data back, and the id is that
            // of a timer of ours that has not fired.
            unsafe { api!(RedisModule_StopTimer(ctx.as_ptr(), id, ptr::null_mut())) };
        }
    }

    pub(crate) fn is_armed(&self) -> bool {
        self.armed.get().is_some()
    }

    /// The unix milliseconds that it is armed for, by the clock as it was then.
    pub(crate) fn armed_for_ms(&self) -> Option<i64> {
        self.armed.get().map(|(_, at_ms)| at_ms)
    }
}

/// While a timer's callback runs: the clock when the server began to fire timers, or a bit later.
static PASS_BEGAN_MS: MainThread<Option<i64>> = MainThread::new(None);

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, data: *mut c_void) {
    // SAFETY: the data that `Timer::arm` gave: a static.
    let timer = unsafe { &*data.cast::<Timer>() };
    // SAFETY: the server's context lives for this call.
    let ctx = unsafe { Ctx::new(ctx) };
    // The server took it for due: its clock was not before that moment.
    let due_ms = timer.armed_for_ms().unwrap_or(i64::MIN);
    PASS_BEGAN_MS.set(Some(ctx.now_ms().max(due_ms)));
    timer.armed.set(None);
    guarded(|| (timer.on_due)(ctx));
    PASS_BEGAN_MS.set(None);
}
